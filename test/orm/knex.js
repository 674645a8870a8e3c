// Knex writes to protected tables: its query builder, its transactions, and models saved whole.
'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { connect, connectKnex, acquire, supersede, protections, makeTable, refused } = require('./servers');

const knex = connectKnex(4);
const use = (trx, name, token) => trx.raw('SELECT gatepost.fence_use(?, ?)', [name, token]);

// A transaction that uses the tokens, [[name, token], ...].
const using = (uses, work) =>
  knex.transaction(async (trx) => {
    for (const [name, token] of uses) await use(trx, name, token);
    return work(trx);
  });

const load = (table, id = 1) => knex(table).where({ id }).first();
// As ORMs save a model: every column as it was loaded or changed, the fence among them.
const save = (trx, table, model) => trx(table).where({ id: model.id }).update(model);

for (const protection of protections) {
  const { kind, table, leaseOf } = protection;
  const lease = leaseOf(1);
  let client, token;
  // Grants the lease of row 1 again. Result: the tokens before and after.
  const change = async () => [token, (token = await supersede(client, lease))];

  test(`by ${kind}: a model is saved with the current token only`, async () => {
    client = await connect();
    await makeTable(client, protection);
    await refused('LG003', save(knex, table, { ...(await load(table)), owner: 'without' }));
    token = await acquire(client, lease);
    const model = { ...(await load(table)), owner: 'first' };
    await using([[lease, token]], (trx) => save(trx, table, model));
    const [stale, current] = await change();
    await refused('LG001', using([[lease, stale]], (trx) => save(trx, table, { ...model, owner: 'stale' })));
    await using([[lease, current]], (trx) => save(trx, table, { ...model, amount: 1 }));
    const { owner, amount } = await load(table);
    assert.deepEqual({ owner, amount }, { owner: 'first', amount: 1 });
  });

  test(`by ${kind}: upsert`, async () => {
    const upsert = (trx, owner) => trx(table).insert({ id: 1, owner, amount: 2 }).onConflict('id').merge();
    await refused('LG003', upsert(knex, 'without'));
    const [stale, current] = await change();
    await refused('LG001', using([[lease, stale]], (trx) => upsert(trx, 'stale')));
    await using([[lease, current]], (trx) => upsert(trx, 'upsert'));
    assert.equal((await load(table)).owner, 'upsert');
  });

  test(`by ${kind}: batchInsert, all or nothing`, async () => {
    const ids = [11, 12, 13, 14, 15];
    const rows = ids.map((id) => ({ id, owner: 'batch', amount: id }));
    const uses = [];
    for (const name of new Set(ids.map(leaseOf))) uses.push([name, await supersede(client, name)]);
    const insert = (tokens) => using(tokens, (trx) => trx.batchInsert(table, rows, 2));
    const count = async () => (await knex(table).whereIn('id', ids)).length;
    await refused('LG003', knex.batchInsert(table, rows, 2));
    await refused('LG003', insert(uses.slice(1)));
    assert.equal(await count(), 0);
    await insert(uses);
    assert.equal(await count(), ids.length);
    const [name, stale] = uses[0];
    uses[0] = [name, await supersede(client, name)];
    const remove = (tokens) => using(tokens, (trx) => trx(table).whereIn('id', ids).del());
    await refused('LG003', knex(table).whereIn('id', ids).del());
    await refused('LG001', remove([...uses.slice(1), [name, stale]]));
    assert.equal(await remove(uses), ids.length);
  });

  test(`by ${kind}: a use within a nested transaction that fails is gone`, async () => {
    const [, current] = await change();
    const failing = async (inner) => {
      await use(inner, lease, current);
      await inner(table).increment('amount');
      throw new Error('inner');
    };
    const before = await load(table);
    await refused('LG003', knex.transaction(async (trx) => {
      await assert.rejects(trx.transaction(failing), /inner/);
      await trx(table).increment('amount');
    }));
    assert.deepEqual(await load(table), before);
    const working = (inner) => inner(table).where({ id: 1 }).increment('amount');
    await using([[lease, current]], (trx) => trx.transaction(working));
    assert.equal((await load(table)).amount, before.amount + 1);
  });

  test(`by ${kind}: fence_use on the pool instead of the transaction warns, and the write is LG003`, async () => {
    const [, current] = await change();
    knex.notices.length = 0;
    await refused('LG003', knex.transaction(async (trx) => {
      await use(knex, lease, current);
      await save(trx, table, { id: 1, owner: 'mistaken' });
    }));
    assert.deepEqual(knex.notices.map(({ severity }) => severity), ['WARNING']);
    await refused('LG003', knex(table).update({ owner: 'mistaken' }));
  });
}

test('by lease: truncate needs the token', async () => {
  await refused('LG003', knex('by_lease').truncate());
  const token = await supersede(await connect(), 'accounts');
  await using([['accounts', token]], (trx) => trx('by_lease').truncate());
  assert.equal(await load('by_lease'), undefined);
});

test('by column: a save that writes back the newer mark it has read is stale all the same', async () => {
  const client = await connect();
  const older = await acquire(client, 'older');
  const newer = await acquire(client, 'newer');
  await using([['newer', newer]], (trx) => trx('by_column').where({ id: 1 }).update({ owner: 'newer' }));
  const model = await load('by_column');
  assert.equal(model.fence, newer);
  await refused('LG001', using([['older', older]], (trx) => save(trx, 'by_column', { ...model, owner: 'older' })));
  await refused('LG001', using([['older', older]], (trx) => trx('by_column').insert(model).onConflict('id').merge()));
  assert.deepEqual(await load('by_column'), model);
});

test('by column: the mark is the token in use, whatever a save writes back', async () => {
  const client = await connect();
  const model = await load('by_column');
  const token = await supersede(client, 'newer');
  await using([['newer', token]], (trx) => save(trx, 'by_column', { ...model, owner: 'read before' }));
  assert.deepEqual(await load('by_column'), { ...model, owner: 'read before', fence: token });
  await using([['newer', token]], (trx) => trx('by_column').insert({ ...model, id: 30, fence: '7' }));
  assert.equal((await load('by_column', 30)).fence, token);
});

test('by template: a row that changes its name needs both', async () => {
  const client = await connect();
  const [one, forty] = [await supersede(client, 'account:1'), await supersede(client, 'account:40')];
  const move = (trx) => trx('by_template').where({ id: 1 }).update({ id: 40 });
  await refused('LG003', using([['account:1', one]], move));
  await refused('LG003', using([['account:40', forty]], move));
  assert.equal(await using([['account:1', one], ['account:40', forty]], move), 1);
});
