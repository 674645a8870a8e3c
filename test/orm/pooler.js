// What goes from client to client behind a pooler in transaction mode with two server connections: nothing.
'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { connect, connectKnex, value, acquire, supersede, protections, makeTable, refused } = require('./servers');

const byTemplate = protections.find(({ kind }) => kind === 'template');
const lease = byTemplate.leaseOf(1);
const add = (client) => client.query('UPDATE by_template SET amount = amount + 1 WHERE id = 1');
const use = (client, name, token) => client.query('SELECT gatepost.fence_use($1, $2)', [name, token]);
const amount = (client) => value(client, 'SELECT amount FROM by_template WHERE id = 1');
const backend = (client) => value(client, 'SELECT pg_backend_pid()');

// The backend of a transaction with those statements.
async function transaction(client, work, end = 'COMMIT') {
  await client.query('BEGIN');
  try {
    const pid = await backend(client);
    await work();
    await client.query(end);
    return pid;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

// Two clients that have both server connections open, and take turns on them from then on. Result: with their backends.
async function twoClients() {
  const [a, b] = [await connect(), await connect()];
  let other;
  const one = await transaction(a, async () => (other = await transaction(b, () => {})));
  return { a, b, pids: [one, other].sort() };
}

// The client writes without a use at every backend, and is refused.
async function refusedEverywhere(client, pids) {
  const seen = new Set();
  for (let i = 0; i < pids.length; i++)
    seen.add(await transaction(client, () => refused('LG003', add(client)), 'ROLLBACK'));
  assert.deepEqual([...seen].sort(), pids);
}

test('clients share backends', async () => {
  const { a, b, pids } = await twoClients();
  assert.notEqual(pids[0], pids[1]);
  const seen = [];
  for (const client of [a, a, b, b]) seen.push(await backend(client));
  assert.deepEqual(seen.slice(0, 2).sort(), pids);
  assert.deepEqual(seen.slice(2).sort(), pids);
});

test('a use ends with its transaction, committed or not', async () => {
  const { a, b, pids } = await twoClients();
  await makeTable(a, byTemplate);
  const token = await acquire(a, lease);
  for (const end of ['COMMIT', 'ROLLBACK'])
    for (const client of [a, b, b, a]) {
      await transaction(client, async () => {
        await use(client, lease, token);
        await add(client);
      }, end);
      await refusedEverywhere(b, pids);
      await refusedEverywhere(a, pids);
    }
  assert.equal(await amount(a), 4);
});

test('nor do others see it while it lasts', async () => {
  const { a, b, pids } = await twoClients();
  const token = await supersede(a, lease);
  await transaction(a, async () => {
    await use(a, lease, token);
    await refused('LG003', add(b));
    assert.equal(await value(b, 'SELECT gatepost.lease_acquire($1, $2)', [lease, '1 h']), null);
  });
  await refusedEverywhere(b, pids);
});

test('a use outside a transaction warns its own client only', async () => {
  const { a, b, pids } = await twoClients();
  const token = await supersede(a, lease);
  a.notices.length = b.notices.length = 0;
  await use(a, lease, token);
  await refusedEverywhere(b, pids);
  await refusedEverywhere(a, pids);
  assert.deepEqual([a.notices.length, b.notices.length], [1, 0]);
});

test('a client that goes away in its transaction takes its use along', async () => {
  const { a, b } = await twoClients();
  const token = await supersede(a, lease);
  const before = await amount(b);
  const gone = new Promise((resolve) => a.once('end', resolve));
  a.on('error', () => {});
  await a.query('BEGIN');
  await use(a, lease, token);
  await add(a);
  a.connection.stream.destroy();
  await gone;
  // The first one waits for the row until the server has noticed.
  for (let i = 0; i < 4; i++) await refused('LG003', add(b));
  await transaction(b, async () => {
    await use(b, lease, token);
    await add(b);
  });
  assert.equal(await amount(b), before + 1);
});

// A client that writes its row by its use, and no row of another, once a round.
async function rowWriter(mine, clients, backends) {
  const client = await connect();
  const [name, other] = [`parallel:${mine}`, mine % clients + 1];
  const write = (id) => client.query('UPDATE parallel SET amount = amount + 1 WHERE id = $1', [id]);
  const stale = await acquire(client, name);
  const token = await supersede(client, name);
  let done = 0;
  const round = async () => {
    const pid = await transaction(client, async () => {
      await use(client, name, token);
      await write(mine);
    });
    backends.set(pid, (backends.get(pid) ?? new Set()).add(mine));
    await transaction(client, () => refused('LG003', write(mine)), 'ROLLBACK');
    await transaction(client, () => refused('LG001', use(client, name, stale)), 'ROLLBACK');
    await transaction(client, async () => {
      await use(client, name, token);
      await refused('LG003', write(other));
    }, 'ROLLBACK');
    done++;
  };
  return async (rounds) => {
    while (done < rounds) await round();
  };
}

test('many clients: each writes its own row by its use, and no row of another', async () => {
  const clients = 8, rounds = 8;
  const { a, b, pids } = await twoClients();
  await makeTable(a, { table: 'parallel', how: `lease => 'parallel:{id}'` }, clients);
  const backends = new Map();
  const writers = await Promise.all(Array.from({ length: clients }, (_, index) => rowWriter(index + 1, clients, backends)));
  const upTo = (round, some) => Promise.all(some.map((writer) => writer(round)));
  // While one server connection is taken, two clients have the other one for themselves; then the other way round.
  await a.query('BEGIN');
  await backend(a);
  await upTo(1, writers.slice(0, 2));
  await b.query('BEGIN');
  await backend(b);
  await a.query('COMMIT');
  await upTo(1, writers.slice(2, 4));
  await b.query('COMMIT');
  assert.deepEqual([...backends.keys()].sort(), pids);
  for (const served of backends.values()) assert.equal(served.size, 2);
  await upTo(rounds, writers);
  assert.deepEqual((await a.query('SELECT DISTINCT amount FROM parallel')).rows, [{ amount: rounds }]);
});

test('the same with a pool of Knex', async () => {
  const knex = connectKnex(6);
  const client = await connect();
  const write = (id, token) => knex.transaction(async (trx) => {
    if (token !== undefined) await trx.raw('SELECT gatepost.fence_use(?, ?)', [`parallel:${id}`, token]);
    return trx('parallel').where({ id }).increment('amount');
  });
  await client.query('SELECT gatepost.fence_unprotect($1)', ['parallel']);
  await knex('parallel').update({ amount: 0 });
  await client.query(`SELECT gatepost.fence_protect('parallel', 'parallel:{id}')`);
  const work = [];
  for (const { id } of await knex('parallel').select('id')) {
    const token = await supersede(client, `parallel:${id}`);
    for (let round = 0; round < 5; round++) work.push(write(id, token), refused('LG003', write(id)));
  }
  await Promise.all(work);
  assert.deepEqual(await knex('parallel').distinct('amount'), [{ amount: 5 }]);
});

test("a session's advisory lock stays behind, and unlocking from elsewhere raises", async () => {
  const { a, b, pids } = await twoClients();
  const locked = await value(a, `SELECT pg_backend_pid() FROM gatepost.advisory_lock('session')`);
  await assert.rejects(value(a, `SELECT gatepost.advisory_unlock('session')`), (error) => {
    assert.equal(error.code, '55000');
    assert.match(error.hint, /pooler in transaction mode/);
    return true;
  });
  assert.equal(await value(b, `SELECT pg_backend_pid() FROM gatepost.advisory_unlock('session')`), locked);
  assert.ok(pids.includes(locked));
});

test("a transaction's advisory lock goes along", async () => {
  const { a, b, pids } = await twoClients();
  const attempt = () => value(b, `SELECT gatepost.try_advisory_xact_lock('transaction')`);
  await transaction(a, async () => {
    await a.query(`SELECT gatepost.advisory_xact_lock('transaction')`);
    assert.equal(await attempt(), false);
  });
  for (const _ of pids) assert.equal(await attempt(), true);
});
