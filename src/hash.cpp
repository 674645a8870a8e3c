#include "hash.hpp"

#include "known_names.hpp"

namespace gatepost {

uint64 hash64(std::string_view bytes) {
  uint8 digest[PG_SHA256_DIGEST_LENGTH];
  pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);
  if (context == nullptr)
    ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
  if (pg_cryptohash_init(context) < 0 ||
      pg_cryptohash_update(context, reinterpret_cast<const uint8 *>(bytes.data()), bytes.size()) < 0 ||
      pg_cryptohash_final(context, digest, sizeof digest) < 0)
    ereport(ERROR,
            (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not hash a name: %s", pg_cryptohash_error(context))));
  pg_cryptohash_free(context);
  uint64 key = 0;
  for (int i = 0; i < 8; i++)
    key = key << 8 | digest[i];
  return key;
}

uint64 mixed(uint64 number) {
  number = (number ^ number >> 33) * UINT64CONST(0xff51afd7ed558ccd);
  number = (number ^ number >> 33) * UINT64CONST(0xc4ceb9fe1a85ec53);
  return number ^ number >> 33;
}

namespace {

// The UTF-8 form of a name. Bytes that have none are taken as they are: names are any bytes that the database takes.
std::string_view utf8_of(std::string_view bytes) {
  const int encoding = GetDatabaseEncoding();
  if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII)
    return bytes;
  const Oid conversion = FindDefaultConversionProc(encoding, PG_UTF8);
  if (!OidIsValid(conversion))
    return bytes;
  const int size = static_cast<int>(bytes.size());
  const int room = size * MAX_CONVERSION_GROWTH + 1;
  auto *source = reinterpret_cast<unsigned char *>(pnstrdup(bytes.data(), size));
  auto *target = static_cast<unsigned char *>(palloc(room));
  const int converted = pg_do_encoding_conversion_buf(conversion, encoding, PG_UTF8, source, size, target, room, true);
  return converted == size ? std::string_view(reinterpret_cast<char *>(target)) : bytes;
}

} // namespace

uint64 key_of(LeaseName name) {
  if (const KnownName *known = known_name(name))
    return known->key;
  const uint64 key = hash64(utf8_of(name.bytes()));
  remember_name(name, key);
  return key;
}

} // namespace gatepost
