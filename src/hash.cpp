#include "hash.hpp"

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

uint64 key_of(LeaseName name) {
  // Most calls are about the name of the call before: a release after its acquire, a renewal after the last one.
  static char last_name[64];
  static size_t last_size;
  static uint64 last_key;
  const auto bytes = name.bytes();
  if (bytes == std::string_view(last_name, last_size))
    return last_key;
  // Returns its argument where nothing needs converting.
  const char *utf8 = pg_server_to_any(bytes.data(), static_cast<int>(bytes.size()), PG_UTF8);
  const uint64 key = hash64(utf8 == bytes.data() ? bytes : std::string_view(utf8));
  if (bytes.size() <= sizeof last_name) {
    memcpy(last_name, bytes.data(), bytes.size());
    last_size = bytes.size();
    last_key = key;
  }
  return key;
}

} // namespace gatepost
