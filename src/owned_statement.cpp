#include "owned_statement.hpp"

#include "mutant.hpp"

namespace gatepost {
namespace {

bool writing;

enum class Kind { read, write };

Oid owner_of(const char *table) {
  const Oid oid = owned_table(table);
  HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(oid));
  if (!HeapTupleIsValid(tuple))
    elog(ERROR, "cache lookup failed for relation %u", oid);
  const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
  ReleaseSysCache(tuple);
  return owner;
}

void prepare(OwnedStatement &statement) {
  SPIPlanPtr plan = SPI_prepare(statement.text, statement.count, const_cast<Oid *>(statement.types));
  if (plan == nullptr)
    elog(ERROR, "could not prepare \"%s\": %s", statement.text, SPI_result_code_string(SPI_result));
  SPI_keepplan(plan);
  statement.plan = plan;
}

// Inside SPI_connect.
void execute(OwnedStatement &statement, Datum *values, Kind kind) {
  Oid role;
  int context;
  GetUserIdAndSecContext(&role, &context);
  const bool outer = writing;
  volatile int code = 0;
  PG_TRY();
  {
    SetUserIdAndSecContext(owner_of(statement.table), context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
    writing = kind == Kind::write;
    if (statement.plan == nullptr)
      prepare(statement);
    if (kind == Kind::read)
      code = SPI_execute_snapshot(statement.plan, values, nullptr,
                                  mutant("marks_by_snapshot") ? GetTransactionSnapshot() : GetLatestSnapshot(),
                                  InvalidSnapshot, true, false, 1);
    else
      code = SPI_execute_plan(statement.plan, values, nullptr, false, 0);
  }
  PG_FINALLY();
  {
    writing = outer;
    SetUserIdAndSecContext(role, context);
  }
  PG_END_TRY();
  if (code < 0)
    elog(ERROR, "could not run \"%s\": %s", statement.text, SPI_result_code_string(code));
}

} // namespace

bool read_newest(OwnedStatement &statement, Datum *values, Datum *results, int columns) {
  SPI_connect();
  execute(statement, values, Kind::read);
  const bool found = SPI_processed > 0;
  for (int i = 0; found && i < columns; i++) {
    bool isnull;
    results[i] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i + 1, &isnull);
  }
  SPI_finish();
  return found;
}

uint64 write_rows(OwnedStatement &statement, Datum *values) {
  SPI_connect();
  execute(statement, values, Kind::write);
  const uint64 rows = SPI_processed;
  SPI_finish();
  return rows;
}

void put_owned_rows(const char *table, const char *query, ReturnSetInfo *result) {
  Oid role;
  int context;
  GetUserIdAndSecContext(&role, &context);
  SPI_connect();
  volatile int code = 0;
  PG_TRY();
  {
    SetUserIdAndSecContext(owner_of(table), context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
    code = SPI_execute(query, true, 0);
  }
  PG_FINALLY();
  {
    if (!mutant("owner_stays"))
      SetUserIdAndSecContext(role, context);
  }
  PG_END_TRY();
  if (code < 0)
    elog(ERROR, "could not run \"%s\": %s", query, SPI_result_code_string(code));
  for (uint64 i = 0; i < SPI_processed; i++)
    tuplestore_puttuple(result->setResult, SPI_tuptable->vals[i]);
  SPI_finish();
}

bool writing_rows() { return writing; }

Oid owned_table(const char *name) {
  const Oid schema = get_namespace_oid("gatepost", true);
  const Oid oid = OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
  if (!OidIsValid(oid))
    ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("relation gatepost.%s does not exist", name),
                    errhint("Is the extension gatepost installed in this database?")));
  return oid;
}

} // namespace gatepost
