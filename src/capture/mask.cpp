#include "capture/mask.hpp"

#include "log/utf8.hpp"
#include "pg/settings.hpp"

extern "C" {
#include "common/sha2.h"
#include "utils/fmgrprotos.h"
}

namespace outbox::capture {

namespace {

// A hash without salt hides nothing that can be guessed, such as an address or a number.
const char *required_salt()
{
    const char *salt = pg::settings::mask_salt();
    if (*salt == '\0')
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("a column is to be masked by sha256, but outbox_relay.mask_salt is not set"),
                errhint("Set outbox_relay.mask_salt to a secret in postgresql.conf and reload the server, or mask by "
                        "\"redact\" or \"null\"."));
    return salt;
}

bytea *salted(std::string_view salt, std::string_view value)
{
    const Size size = VARHDRSZ + salt.size() + value.size();
    auto *bytes = static_cast<bytea *>(palloc(size));
    SET_VARSIZE(bytes, size);
    memcpy(VARDATA(bytes), salt.data(), salt.size());
    memcpy(VARDATA(bytes) + salt.size(), value.data(), value.size());
    return bytes;
}

} // namespace

ValueFormat mask_format(const ValueFormat &plain, const char *way)
{
    if (strcmp(way, "null") == 0)
        return ValueFormat{.format = Format::hidden};
    if (strcmp(way, "redact") == 0)
        return ValueFormat{.format = Format::redacted};

    (void)required_salt();
    auto *hashed = static_cast<ValueFormat *>(palloc(sizeof(ValueFormat)));
    *hashed = plain;
    return ValueFormat{.format = Format::sha256, .hashed = hashed};
}

void write_sha256(StringInfo out, const ValueFormat &plain, Datum value)
{
    const text *shown = value_to_text(plain, value);
    const bytea *message = salted(required_salt(), log::to_utf8({VARDATA_ANY(shown), VARSIZE_ANY_EXHDR(shown)}));
    const bytea *hash = DatumGetByteaPP(DirectFunctionCall1(sha256_bytea, PointerGetDatum(message)));
    append_bytes(out, "\"", 1);
    for (int i = 0; i < PG_SHA256_DIGEST_LENGTH; i++)
        appendStringInfo(out, "%02x", static_cast<unsigned char>(VARDATA_ANY(hash)[i]));
    append_bytes(out, "\"", 1);
}

} // namespace outbox::capture
