#include "relay/credentials.hpp"

#include "pg/guard.hpp"
#include "relay/command_output.hpp"
#include "relay/credentials_text.hpp"
#include "relay/option_error.hpp"

#include <fstream>
#include <iterator>

extern "C" {
#include "mb/pg_wchar.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
}

namespace outbox::relay {

namespace {

constexpr std::size_t longest = 65536;

std::string file_text(const std::string &path)
{
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string text(longest + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.is_open() || file.bad())
        throw OptionError("could not read outbox_relay.credentials_file \"" + path +
                              "\": " + (errno != 0 ? strerror(errno) : "it is no file"),
                          "The server's operating system user reads it.");
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > longest)
        throw OptionError("outbox_relay.credentials_file \"" + path + "\" is longer than 65536 bytes",
                          "It holds a user and a password.");
    return text;
}

std::string printed_text(const std::string &command, std::chrono::steady_clock::time_point deadline)
{
    try {
        return command_output(command, deadline, longest);
    } catch (const std::runtime_error &error) {
        throw OptionError(std::string("outbox_relay.credentials_command: ") + error.what(),
                          "It has outbox_relay.connect_timeout to end in; the server's log has what it wrote to its "
                          "standard error.");
    }
}

// The string member of the object by one of its names, in UTF-8; null: there is none.
const char *member(Jsonb *object, std::initializer_list<const char *> names)
{
    for (const char *name : names) {
        JsonbValue value;
        if (getKeyJsonValueFromContainer(&object->root, name, static_cast<int>(strlen(name)), &value) != nullptr &&
            value.type == jbvString) {
            char *text = pnstrdup(value.val.string.val, value.val.string.len);
            return pg_server_to_any(text, value.val.string.len, PG_UTF8);
        }
    }
    return nullptr;
}

// jsonb_in and no query: what a statement is given, an extension that logs statements may show.
Credentials from_json(const std::string &text)
{
    struct Members {
        const char *user;
        const char *password;
    };
    MemoryContext memory = pg::call(
        [] { return AllocSetContextCreate(CurrentMemoryContext, "outbox_relay credentials", ALLOCSET_SMALL_SIZES); });
    const std::unique_ptr<MemoryContextData, void (*)(MemoryContext)> deleted(memory, [](MemoryContext context) {
        MemoryContextReset(context);
        MemoryContextDelete(context);
    });
    Members members{};
    try {
        members = pg::call([&] {
            MemoryContext caller = MemoryContextSwitchTo(memory);
            const char *input = pg_any_to_server(text.c_str(), static_cast<int>(text.size()), PG_UTF8);
            auto *object = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(input)));
            Members found{};
            if (JB_ROOT_IS_OBJECT(object))
                found = {member(object, {"user", "username"}), member(object, {"password"})};
            MemoryContextSwitchTo(caller);
            return found;
        });
    } catch (const pg::Error &) {
        // Its text might quote what was read.
        throw OptionError("the broker's credentials are not valid JSON", credentials_form);
    }
    if (members.user == nullptr || members.password == nullptr)
        throw OptionError("the broker's credentials lack \"user\" or \"password\"", credentials_form);
    return {members.user, members.password};
}

} // namespace

void read_credentials(const CredentialsSource &source, std::chrono::steady_clock::time_point deadline,
                      transport::AmqpUrl *url)
{
    if (source.file.empty() && source.command.empty())
        return;
    if (!source.file.empty() && !source.command.empty())
        throw OptionError("both outbox_relay.credentials_file and outbox_relay.credentials_command are set",
                          "Empty one of them.");
    const std::string text = source.file.empty() ? printed_text(source.command, deadline) : file_text(source.file);
    Credentials read = looks_like_json(text) ? from_json(text) : credentials_of_lines(text);
    url->user = std::move(read.user);
    url->password = std::move(read.password);
}

} // namespace outbox::relay
