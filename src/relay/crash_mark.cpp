#include "relay/crash_mark.hpp"

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

extern "C" {
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "utils/timestamp.h"
}

namespace outbox::relay {

namespace {

// In the directory that the server has for statistics that survive it: it looks at its own file there only.
struct MarkPath {
    char text[MAXPGPATH];
    MarkPath() : text{} {}
    MarkPath(Oid database, int relay_id, int lane)
    {
        snprintf(text, sizeof(text), "%s/outbox_relay.%u.%d.%d", PGSTAT_STAT_PERMANENT_DIRECTORY, database, relay_id,
                 lane);
    }
};

MarkPath own_path;
Crashes earlier; // those before this lane
TimestampTz started_at;
volatile std::sig_atomic_t marked = 0;

// Called in a signal handler, too: system calls only.
bool write_mark(const MarkPath &path, const Crashes &crashes)
{
    const int file = open(path.text, O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0)
        return false;
    const bool written = write(file, &crashes, sizeof(crashes)) == static_cast<ssize_t>(sizeof(crashes));
    close(file);
    return written;
}

// The server sends it to all when one process has crashed, and when it is shut down at once.
void on_quit(int signal)
{
    take_crash_mark_back();
    SignalHandlerForCrashExit(signal);
}

} // namespace

Crashes read_crashes(Oid database, int relay_id, int lane)
{
    Crashes crashes{0, 0};
    const int file = open(MarkPath(database, relay_id, lane).text, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return crashes;
    if (read(file, &crashes, sizeof(crashes)) != static_cast<ssize_t>(sizeof(crashes)))
        crashes = Crashes{0, 0};
    close(file);
    return crashes;
}

void forget_crashes(Oid database, int relay_id, int lane)
{
    unlink(MarkPath(database, relay_id, lane).text);
}

void leave_crash_mark(Oid database, int relay_id, int lane)
{
    own_path = MarkPath(database, relay_id, lane);
    earlier = read_crashes(database, relay_id, lane);
    started_at = GetCurrentTimestamp();
    if (!write_mark(own_path, {started_at, earlier.in_a_row + 1}))
        ereport(LOG, errcode_for_file_access(), errmsg("outbox_relay: could not write file \"%s\": %m", own_path.text),
                errdetail("Should this lane crash, the crash will not be counted."));
    marked = 1;
    pqsignal(SIGQUIT, on_quit);
}

void outlive_crashes()
{
    if (marked == 0 || earlier.in_a_row == 0 || GetCurrentTimestamp() - started_at < well_after)
        return;
    earlier = Crashes{0, 0};
    write_mark(own_path, {GetCurrentTimestamp(), 1});
}

void take_crash_mark_back()
{
    if (marked == 0)
        return;
    marked = 0;
    if (earlier.in_a_row == 0)
        unlink(own_path.text);
    else
        write_mark(own_path, earlier);
}

} // namespace outbox::relay
