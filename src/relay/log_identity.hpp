// Which log a message comes from. Plain C++.
#pragma once

#include <string>

namespace outbox::relay {

struct LogIdentity {
    std::string id; // outbox.installation's log_id

    // The header outbox-epoch: the id and the server's timeline, of which a new one begins where recovery or a
    // promotion ended the old one. Ids of events rise as long as it stays the same; where it changes they may go back.
    std::string epoch;

    bool operator==(const LogIdentity &) const = default;
};

} // namespace outbox::relay
