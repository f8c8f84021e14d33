#include "capture/trace_context.hpp"

#include <gtest/gtest.h>

#include <string>

namespace outbox::capture {
namespace {

const std::string id = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";

TEST(TraceContextTest, ATraceparentIsOfTheW3cForm)
{
    const std::string accepted[] = {"00-" + id + "-01",
                                    "00-" + id + "-00",
                                    "00-" + id + "-ff",
                                    "01-" + id + "-01",
                                    "cc-" + id + "-01-what-comes-later",
                                    "01-" + id + "-01-" + std::string(199, 'x')};
    for (const std::string &text : accepted)
        EXPECT_TRUE(is_traceparent(text)) << text;
    const std::string refused[] = {"",
                                   "00",
                                   "garbage",
                                   id,
                                   "00-" + id,
                                   "00-" + id + "-1",
                                   "00-" + id + "-012",
                                   "00-" + id + "-01-",
                                   "00-" + id + "-01-x",
                                   "ff-" + id + "-01",
                                   "0g-" + id + "-01",
                                   "00_" + id + "-01",
                                   "00-" + id + "_01",
                                   "00-" + id + "-0g",
                                   "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                                   "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                                   "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                                   "00-0af7651916cd43dd8448eb211c80319cx b7ad6b716920333-01",
                                   " 00-" + id + "-01",
                                   "00-" + id + "-01 ",
                                   "01-" + id + "-01x",
                                   "01-" + id + "-01-a b",
                                   "01-" + id + "-01-" + std::string(200, 'x')};
    for (const std::string &text : refused)
        EXPECT_FALSE(is_traceparent(text)) << text;
}

TEST(TraceContextTest, ATracestateIsAListOfMembers)
{
    const std::string long_key = 'a' + std::string(255, 'b');
    const std::string accepted[] = {"rojo=1",
                                    "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
                                    "a=1 , b=2\t,,c=3",
                                    ",a=1,",
                                    "a/b_c-d*e=!~ x",
                                    "1tenant@sys=v",
                                    long_key + "=v",
                                    "a=" + std::string(256, 'v'),
                                    std::string(31, ',') + "a=1"};
    for (const std::string &text : accepted)
        EXPECT_TRUE(is_tracestate(text)) << text;
    const std::string refused[] = {"",
                                   " ",
                                   ",",
                                   "a",
                                   "a=",
                                   "=v",
                                   "A=1",
                                   "1a=v",
                                   "a b=1",
                                   "a=b=c",
                                   "a=\x7F",
                                   "a=\xC3\xBC",
                                   "@s=v",
                                   "t@=v",
                                   "t@1s=v",
                                   "t@" + std::string(15, 's') + "=v",
                                   long_key + "b=v",
                                   "a=" + std::string(257, 'v'),
                                   "a=" + std::string(200, 'v') + ",b=" + std::string(200, 'v') +
                                       ",c=" + std::string(200, 'v'),
                                   std::string(32, ',') + "a=1",
                                   "a=1,b"};
    for (const std::string &text : refused)
        EXPECT_FALSE(is_tracestate(text)) << text;
}

} // namespace
} // namespace outbox::capture
