// Runs a shell command and takes what it prints, within a deadline. Plain C++.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace outbox::relay {

// What the command wrote to its standard output; its standard error stays that of this process, its input is empty.
// Throws std::runtime_error, which quotes neither the command nor its output, if it cannot be run, fails, prints more
// than `limit` bytes, or has not ended by the deadline: it is then killed, with all processes that it started.
std::string command_output(const std::string &command, std::chrono::steady_clock::time_point deadline,
                           std::size_t limit);

} // namespace outbox::relay
