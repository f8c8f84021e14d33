#include "relay/command_output.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace outbox::relay {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto exit_poll = 5ms;

std::runtime_error failure(const std::string &what, int error)
{
    return std::runtime_error(what + ": " + std::generic_category().message(error));
}

// The command as a group of processes of its own; whatever of it still runs at the end is killed.
class Child {
  public:
    explicit Child(const std::string &command)
    {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            throw failure("could not make a pipe", errno);
        output_ = ends[0];
        const int error = spawn(command, ends[1]);
        ::close(ends[1]);
        if (error != 0) {
            ::close(output_);
            throw failure("could not run a shell", error);
        }
    }
    ~Child()
    {
        ::close(output_);
        if (pid_ == 0)
            return;
        ::kill(-pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
            continue;
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    int output() const { return output_; }

    // How it ended, if it has.
    bool ended(int *status)
    {
        if (::waitpid(pid_, status, WNOHANG) != pid_)
            return false;
        pid_ = 0;
        return true;
    }

  private:
    // Returns 0 or the error's number.
    int spawn(const std::string &command, int output)
    {
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attributes;
        posix_spawn_file_actions_init(&files);
        posix_spawnattr_init(&attributes);
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
        // A server process ignores SIGPIPE and may block others: a command expects neither.
        sigset_t all;
        sigset_t none;
        sigfillset(&all);
        sigemptyset(&none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
        const char *arguments[] = {"sh", "-c", command.c_str(), nullptr};
        const int error =
            posix_spawn(&pid_, "/bin/sh", &files, &attributes, const_cast<char *const *>(arguments), environ);
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
        return error;
    }

    int output_ = -1;
    pid_t pid_ = 0; // 0: its end has been seen
};

std::chrono::milliseconds time_left(Clock::time_point deadline)
{
    return std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()));
}

[[noreturn]] void throw_late()
{
    throw std::runtime_error("the command did not end in time");
}

std::string read_all(int output, Clock::time_point deadline, std::size_t limit)
{
    std::string text;
    for (;;) {
        pollfd wanted{output, POLLIN, 0};
        const int ready = ::poll(&wanted, 1, static_cast<int>(time_left(deadline).count()));
        if (ready == 0)
            throw_late();
        if (ready < 0 && errno == EINTR)
            continue;
        char buffer[4096];
        const ssize_t size = ::read(output, buffer, sizeof buffer);
        if (size < 0 && errno != EINTR)
            throw failure("could not read what the command prints", errno);
        if (size == 0)
            return text;
        text.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
        if (text.size() > limit)
            throw std::runtime_error("the command prints more than " + std::to_string(limit) + " bytes");
    }
}

} // namespace

std::string command_output(const std::string &command, Clock::time_point deadline, std::size_t limit)
{
    Child child(command);
    std::string text = read_all(child.output(), deadline, limit);
    int status = 0;
    while (!child.ended(&status)) {
        if (time_left(deadline) == 0ms)
            throw_late();
        ::usleep(std::chrono::microseconds(exit_poll).count());
    }
    if (WIFSIGNALED(status))
        throw std::runtime_error("the command was ended by signal " + std::to_string(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        throw std::runtime_error("the command failed with exit code " + std::to_string(WEXITSTATUS(status)));
    return text;
}

} // namespace outbox::relay
