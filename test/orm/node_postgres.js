// node-postgres by itself writes to protected tables.
'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { pipeline } = require('node:stream/promises');
const { Readable } = require('node:stream');
const { from: copyFrom } = require('pg-copy-streams');
const { connect, value, acquire, supersede, protections, makeTable, refused } = require('./servers');

const use = (client, name, token) => client.query('SELECT gatepost.fence_use($1, $2)', [name, token]);
const amount = (client, table) => value(client, `SELECT amount FROM ${table} WHERE id = 1`);

// A transaction that uses the tokens, [[name, token], ...].
async function using(client, uses, work) {
  await client.query('BEGIN');
  try {
    for (const [name, token] of uses) await use(client, name, token);
    await work();
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

test('a token is a string, and exact as a number too', async () => {
  const client = await connect();
  const token = await acquire(client, 'string');
  assert.equal(typeof token, 'string');
  assert.ok(Number.isSafeInteger(Number(token)));
  assert.equal(String(Number(token)), token);
  assert.equal(String(JSON.parse(`{"token": ${token}}`).token), token);
  assert.equal(await value(client, 'SELECT gatepost.lease_renew($1, $2)', ['string', Number(token)]), true);
  assert.equal(await value(client, 'SELECT gatepost.lease_renew($1, $2)', ['string', BigInt(token)]), true);
  assert.equal(await value(client, 'SELECT gatepost.lease_release($1, $2)', ['string', token]), true);
});

for (const protection of protections) {
  const { kind, table, leaseOf } = protection;
  const lease = leaseOf(1);

  test(`by ${kind}: the current token writes, a stale one is LG001, none is LG003`, async () => {
    const client = await connect();
    await makeTable(client, protection);
    const add = () => client.query(`UPDATE ${table} SET amount = amount + 1 WHERE id = $1`, [1]);
    await refused('LG003', add());
    await refused('LG003', using(client, [], add));
    const first = await acquire(client, lease);
    await using(client, [[lease, first]], add);
    const second = await supersede(client, lease);
    await refused('LG001', using(client, [[lease, first]], add));
    await using(client, [[lease, second]], add);
    assert.equal(await amount(client, table), 2);
  });

  test(`by ${kind}: fence_use outside a transaction warns, and the write is LG003`, async () => {
    const client = await connect();
    const token = await supersede(client, lease);
    client.notices.length = 0;
    await use(client, lease, token);
    assert.deepEqual(client.notices.map((notice) => [notice.severity, notice.code]), [['WARNING', '01000']]);
    assert.match(client.notices[0].message, new RegExp(`"${lease}"`));
    await refused('LG003', client.query(`UPDATE ${table} SET amount = -1`));
  });

  test(`by ${kind}: statements in one string are one transaction`, async () => {
    const client = await connect();
    const token = await supersede(client, lease);
    client.notices.length = 0;
    await client.query(`SELECT gatepost.fence_use('${lease}', ${token}); UPDATE ${table} SET amount = 5 WHERE id = 1`);
    assert.equal(await amount(client, table), 5);
    assert.deepEqual(client.notices, []);
  });

  test(`by ${kind}: a savepoint takes its use along`, async () => {
    const client = await connect();
    const token = await supersede(client, lease);
    await refused('LG003', using(client, [], async () => {
      await client.query('SAVEPOINT s');
      await use(client, lease, token);
      await client.query(`UPDATE ${table} SET amount = 6`);
      await client.query('ROLLBACK TO s');
      await client.query(`UPDATE ${table} SET amount = 7`);
    }));
    assert.equal(await amount(client, table), 5);
  });

  test(`by ${kind}: COPY`, async () => {
    const client = await connect();
    const token = await supersede(client, leaseOf(20));
    const copy = (by) =>
      pipeline(Readable.from(['20\tcopied\t1\t\\N\n']), by.query(copyFrom(`COPY ${table} FROM STDIN`)));
    // PgBouncer may keep a server's connection for a program whose COPY was refused, until it leaves:
    // docs/with-an-orm.md.
    const refusedOne = await connect();
    await refused('LG003', copy(refusedOne));
    await refusedOne.end();
    await using(client, [[leaseOf(20), token]], () => copy(client));
    assert.equal(await value(client, `SELECT owner FROM ${table} WHERE id = 20`), 'copied');
  });
}

test('who swallows the refusal commits nothing', async () => {
  const client = await connect();
  const token = await acquire(client, 'swallowed');
  await supersede(client, 'swallowed');
  await client.query('BEGIN');
  await client.query('CREATE TABLE swallowed ()');
  await refused('LG001', use(client, 'swallowed', token));
  await refused('25P02', client.query('CREATE TABLE swallowed ()'));
  assert.equal((await client.query('COMMIT')).command, 'ROLLBACK');
  assert.equal(await value(client, `SELECT to_regclass('swallowed')`), null);
});

test('fenced_update takes objects, and answers true, false and LG001', async () => {
  const client = await connect();
  await client.query('CREATE TABLE report (id int PRIMARY KEY, body jsonb, fence bigint)');
  await client.query('INSERT INTO report VALUES (1)');
  const first = await acquire(client, 'report');
  const second = await supersede(client, 'report');
  const update = (id, token) =>
    value(client, 'SELECT gatepost.fenced_update($1, $2, $3, $4)', ['report', { id }, { body: { by: token } }, token]);
  assert.equal(await update(1, second), true);
  assert.equal(await update(2, second), false);
  await refused('LG001', update(1, first));
  assert.deepEqual((await client.query('SELECT * FROM report')).rows, [{ id: 1, body: { by: second }, fence: second }]);
});
