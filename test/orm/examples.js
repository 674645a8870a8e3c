// Runs the examples of a document that is named: the blocks of each heading are one program.
//   ```js       what console.log prints is what comments say, at the end of its line or below on lines of their own
//   ```sql      and <!-- setup ... --> are run as they come
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const { test } = require('node:test');
const { connect } = require('./servers');

const AsyncFunction = (async () => {}).constructor;
const document = fs.readFileSync(process.env.DOCUMENT, 'utf8');

for (const section of document.split(/^## /m)) {
  const blocks = [...section.matchAll(/^(?:```(sql|js)|<!-- (setup))\n(.*?)^(?:```|-->)$/gms)];
  if (blocks.length === 0) continue;
  test(section.split('\n', 1)[0], async () => {
    const client = await connect();
    const steps = blocks.map(([, kind, , text]) => (kind === 'js' ? text : `await sql(${JSON.stringify(text)});\n`));
    const expected = blocks
      .filter(([, kind]) => kind === 'js')
      .flatMap(([, , , text]) => [...text.matchAll(/(?:^|console\.log.*; )\/\/ (.*)$/gm)])
      .map(([, comment]) => comment);
    const printed = [];
    const program = new AsyncFunction('require', 'console', 'sql', steps.join(''));
    await program(require, { log: (value) => printed.push(String(value)) }, (text) => client.query(text));
    assert.deepEqual(printed, expected);
  });
}
