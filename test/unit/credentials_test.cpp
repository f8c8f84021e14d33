#include "relay/command_output.hpp"
#include "relay/credentials_text.hpp"
#include "relay/option_error.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace outbox::relay {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(CredentialsText, HasTheUserOnOneLineAndThePasswordOnTheNext)
{
    for (const char *text : {"relay\np: w\n", "relay\np: w", "relay\r\np: w\r\n", "relay\np: w\n\n"}) {
        const Credentials read = credentials_of_lines(text);
        EXPECT_EQ(read.user, "relay") << text;
        EXPECT_EQ(read.password, "p: w") << text;
    }
}

TEST(CredentialsText, IsRefusedWithoutAWordOfItIfItIsNotTwoLines)
{
    for (const char *text : {"", "s3cret", "s3cret\n", "\ns3cret\n", "a\ns3cret\nmore\n"}) {
        try {
            credentials_of_lines(text);
            ADD_FAILURE() << "accepted: " << text;
        } catch (const OptionError &error) {
            EXPECT_EQ((error.what() + error.hint()).find("s3cret"), std::string::npos);
        }
    }
}

TEST(CredentialsText, IsJsonIfItBeginsWithABrace)
{
    EXPECT_TRUE(looks_like_json(" \n{\"user\": \"a\"}"));
    EXPECT_FALSE(looks_like_json("user\n{password\n"));
    EXPECT_FALSE(looks_like_json(""));
}

// The error's text; empty: there was none.
std::string failure(const std::string &command, std::chrono::milliseconds limit = 5s)
{
    try {
        command_output(command, Clock::now() + limit, 100);
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return {};
}

TEST(CommandOutput, IsWhatTheShellCommandPrints)
{
    EXPECT_EQ(command_output("printf 'a\\nb' | cat; cat", Clock::now() + 5s, 100), "a\nb");
}

TEST(CommandOutput, ACommandThatFailsIsAnErrorThatQuotesNothing)
{
    EXPECT_EQ(failure("echo s3cret; exit 3"), "the command failed with exit code 3");
    EXPECT_EQ(failure("kill -9 $$"), "the command was ended by signal 9");
    EXPECT_EQ(failure("head -c 101 /dev/zero"), "the command prints more than 100 bytes");
}

TEST(CommandOutput, ACommandThatHangsIsKilledWithAllItStarted)
{
    const auto before = Clock::now();
    EXPECT_EQ(failure("sleep 30 & sleep 30", 200ms), "the command did not end in time");
    EXPECT_EQ(failure("exec >&-; sleep 30", 200ms), "the command did not end in time");
    EXPECT_LT(Clock::now() - before, 5s);
}

} // namespace
} // namespace outbox::relay
