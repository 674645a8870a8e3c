// Fixed statements on the extension's ordinary tables, prepared once a session and run as the table's owner: callers
// need no right on the table. All names and operators in them are qualified, so nothing of the caller's is looked up.
#pragma once

#include "pg.hpp"

namespace gatepost {

struct OwnedStatement {
  const char *table; // in schema gatepost
  const char *text;
  int count; // of parameters
  const Oid *types;
  SPIPlanPtr plan; // nullptr until it is first run
};

// Reads one row of the newest committed state and of what this transaction has done, whatever its snapshot. results
// takes the columns, which must be passed by value. Result: whether there was a row.
bool read_newest(OwnedStatement &statement, Datum *values, Datum *results, int columns);

// Runs a write as any statement of this transaction: under REPEATABLE READ and SERIALIZABLE it can end in 40001.
// Result: the number of rows.
uint64 write_rows(OwnedStatement &statement, Datum *values);

// Runs a query of no parameters as the owner and puts its rows into the result of a set-returning function. What it
// calls has that role too.
void put_owned_rows(const char *table, const char *query, ReturnSetInfo *result);

// Whether such a write is running: for the guards of the tables.
bool writing_rows();

// A table of schema gatepost.
Oid owned_table(const char *name);

} // namespace gatepost
