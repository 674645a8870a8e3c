// Connections for the tests, to the server that the environment names: PGHOST, PGPORT, PGUSER, PGDATABASE.
'use strict';

const assert = require('node:assert');
const { after } = require('node:test');
const pg = require('pg');
const makeKnex = require('knex');

// An answer that does not come fails its test.
const options = { query_timeout: 30_000 };

const closers = [];
// An open connection would keep node from ending.
after(() => Promise.all(closers.map((close) => close())));

// A client of node-postgres. What the server says beside its answers is kept in client.notices.
async function connect() {
  const client = new pg.Client(options);
  client.notices = [];
  client.on('notice', (notice) => client.notices.push(notice));
  await client.connect();
  closers.push(() => client.end());
  return client;
}

// Knex with a pool of at most so many connections. Their notices are in knex.notices.
function connectKnex(max) {
  const notices = [];
  const afterCreate = (client, done) => {
    client.on('notice', (notice) => notices.push(notice));
    done();
  };
  const knex = makeKnex({ client: 'pg', connection: options, pool: { min: 0, max, afterCreate } });
  closers.push(() => knex.destroy());
  return Object.assign(knex, { notices });
}

// The only value of a query's only row.
async function value(client, sql, parameters) {
  const { rows } = await client.query(sql, parameters);
  return Object.values(rows[0])[0];
}

// The token of a new grant.
async function acquire(client, name) {
  const token = await value(client, 'SELECT gatepost.lease_acquire($1, $2)', [name, '1 h']);
  assert.notEqual(token, null, `${name} is busy`);
  return token;
}

// Grants a name again, whoever has it. Result: the token.
async function supersede(client, name) {
  await client.query('SELECT gatepost.lease_break($1)', [name]);
  return acquire(client, name);
}

// The three kinds of protection: a table of each, the arguments of fence_protect, and the lease for a row.
const protections = [
  { kind: 'lease', table: 'by_lease', how: `lease => 'accounts'`, leaseOf: () => 'accounts' },
  { kind: 'template', table: 'by_template', how: `lease => 'account:{id}'`, leaseOf: (id) => `account:${id}` },
  { kind: 'column', table: 'by_column', how: `fence_column => 'fence'`, leaseOf: () => 'any name' },
];

// Makes the table of a protection, with rows 1, 2 ...
async function makeTable(client, { table, how }, rows = 1) {
  await client.query(`
    CREATE TABLE ${table} (id int PRIMARY KEY, owner text NOT NULL, amount int NOT NULL, fence bigint);
    INSERT INTO ${table} SELECT n, 'nobody', 0 FROM generate_series(1, ${rows}) AS n;
    SELECT gatepost.fence_protect('${table}', ${how})`);
}

// Passes when the work fails with that SQLSTATE.
const refused = (code, work) => assert.rejects(work, { code });

module.exports = { connect, connectKnex, value, acquire, supersede, protections, makeTable, refused };
