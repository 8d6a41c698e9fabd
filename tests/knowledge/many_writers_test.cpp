// Many processes write one database, each its own study. Each writer is a process of its own,
// because closing a file drops the locks of the whole process.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>

#include <sqlite3.h>

#include "knowledge/check.h"
#include "knowledge/maintenance.h"
#include "knowledge/storage/sqlite.h"
#include "knowledge/storage/writer.h"
#include "knowledge/storage/writer_lock.h"
#include "knowledge/studies.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::Folder;
using testing_support::must;
using testing_support::study_named;

// Pipe: a line between processes; whoever reads waits.
class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void send(char byte) const { (void)!::write(ends_[1], &byte, 1); }
  char receive() const {
    char byte = 0;
    if (::read(ends_[0], &byte, 1) != 1) throw std::runtime_error("the pipe is closed");
    return byte;
  }
  bool has_byte() const {
    pollfd waiting{ends_[0], POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 1;
  }

 private:
  int ends_[2] = {-1, -1};
};

// Process: runs a function, whose result is its exit code, or 255 if it throws.
class Process {
 public:
  explicit Process(const std::function<int()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    try {
      ::_exit(body());
    } catch (const std::exception& error) {
      (void)!::write(STDERR_FILENO, error.what(), std::string_view(error.what()).size());
      ::_exit(255);
    }
  }
  Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Process& operator=(Process&&) = delete;
  ~Process() {
    kill();
    wait();
  }
  void kill() const {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }
  int wait() {
    int status = 0;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

int elsewhere(const std::function<int()>& body) {
  return Process(body).wait();
}

// Runs the study `name`, new or old, until it is killed.
Process runner(const fs::path& path, const std::string& name) {
  const Pipe ready;
  Process process([&]() -> int {
    const auto ledger = Ledger::open(path);
    const bool is_there = ledger && (*ledger)->study(name).has_value();
    const bool runs = ledger && (is_there ? (*ledger)->open_study(name).has_value()
                                          : (*ledger)->create_study(study_named(name)).has_value());
    ready.send(runs ? 'r' : 'x');
    ::pause();
    return 0;
  });
  if (ready.receive() != 'r') throw std::runtime_error("study " + name + " cannot be run");
  return process;
}

class ManyWriters : public testing::Test {
 protected:
  ~ManyWriters() override { EXPECT_EQ(must(check(path_)), std::vector<std::string>{}); }

  // Creates a study in another process; returns its number, or 100 + the code of its error.
  int create_elsewhere(const std::string& name) const {
    return elsewhere([&] {
      const auto made = must(Ledger::open(path_))->create_study(study_named(name));
      return made ? static_cast<int>(*made) : 100 + static_cast<int>(made.error().code);
    });
  }

  std::size_t events_of(const std::string& name) const {
    const auto reader = must(Reader::open(path_));
    return must(reader->events(must(reader->study(name)).id)).size();
  }

  Folder folder_;
  const fs::path path_ = folder_ / "detol.db";
};

TEST_F(ManyWriters, AppendToTheirStudiesAtTheSameTime) {
  constexpr int kWriters = 4, kEvents = 50;
  std::vector<Process> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([this, i] {
      const auto ledger = must(Ledger::open(path_));
      const StudyId study = must(ledger->create_study(study_named("s" + std::to_string(i))));
      for (TrialId trial = 0; trial < kEvents; ++trial)
        must(ledger->append(study, std::vector<Event>{asked(trial)}));
      return 0;
    });
  }
  for (Process& writer : writers) EXPECT_EQ(writer.wait(), 0);
  for (int i = 0; i < kWriters; ++i)
    EXPECT_EQ(events_of("s" + std::to_string(i)), static_cast<std::size_t>(kEvents));
}

TEST_F(ManyWriters, OfOneStudyTheSecondIsToldWhoTheFirstIs) {
  const Process first = runner(path_, "s");
  const auto refused = must(Ledger::open(path_))->open_study("s");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStorage);
  EXPECT_NE(refused.error().message.find("study 's' is being run by process " +
                                         std::to_string(first.pid())),
            std::string::npos)
      << refused.error().message;
}

TEST_F(ManyWriters, AnAppendToAStudyOfAnotherIsRefused) {
  const Process first = runner(path_, "s");
  const auto late = must(Ledger::open(path_))->append(1, std::vector<Event>{asked(0)});
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("is being run by process"), std::string::npos);
}

TEST_F(ManyWriters, TheLockOfAKilledOneIsFreeAtOnce) {
  const Process other = runner(path_, "other");
  for (int round = 0; round < 20; ++round) {
    Process killed = runner(path_, "s");
    killed.kill();
    killed.wait();
    EXPECT_TRUE(must(Ledger::open(path_))->open_study("s"));
  }
}

TEST_F(ManyWriters, AStudyReadBeforeItWasLockedIsReadAgain) {
  create_elsewhere("s");
  const auto ledger = must(Ledger::open(path_));
  const StudyId study = must(ledger->study("s")).id;
  EXPECT_EQ(elsewhere([&] {
              must(must(Ledger::open(path_))->append(study, std::vector<Event>{asked(0)}));
              return 0;
            }),
            0);
  must(ledger->append(study, std::vector<Event>{asked(1)}));
  EXPECT_EQ(must(ledger->events(study)).size(), 2U);
}

TEST_F(ManyWriters, OfTwoThatCreateANameOneWins) {
  for (int round = 0; round < 10; ++round) {
    const std::string name = "s" + std::to_string(round);
    std::vector<Process> writers;
    for (int i = 0; i < 2; ++i)
      writers.emplace_back([&] { return create_elsewhere(name) < 100 ? 1 : 0; });
    EXPECT_EQ(writers[0].wait() + writers[1].wait(), 1) << name;
  }
}

TEST_F(ManyWriters, TheLoserOfANameIsToldThatTheStudyExists) {
  create_elsewhere("s");
  EXPECT_EQ(create_elsewhere("s"), 100 + static_cast<int>(ErrorCode::kStudy));
}

TEST_F(ManyWriters, NumbersOfStudiesNeverCollide) {
  constexpr int kWriters = 4, kStudies = 8;
  std::vector<Process> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([this, i] {
      const auto ledger = must(Ledger::open(path_));
      for (int j = 0; j < kStudies; ++j)
        must(ledger->create_study(study_named(std::to_string(i) + "-" + std::to_string(j))));
      return 0;
    });
  }
  for (Process& writer : writers) EXPECT_EQ(writer.wait(), 0);
  std::set<StudyId> numbers;
  for (const StudyRecord& record : must(must(Reader::open(path_))->studies()))
    numbers.insert(record.id);
  EXPECT_EQ(numbers.size(), static_cast<std::size_t>(kWriters) * kStudies);
}

TEST_F(ManyWriters, EachIsNamedWithItsStudy) {
  const Process first = runner(path_, "a"), second = runner(path_, "b");
  const auto writers = must(current_writers(path_));
  ASSERT_EQ(writers.size(), 2U);
  EXPECT_EQ(writers[0].study, "a");
  EXPECT_EQ(writers[0].pid, first.pid());
  EXPECT_EQ(writers[0].study_id, 1);
  EXPECT_EQ(writers[1].study, "b");
  EXPECT_EQ(writers[1].pid, second.pid());
  EXPECT_EQ(writers[1].study_id, 2);
}

TEST_F(ManyWriters, StudiesOfOneProcessAreNamedEach) {
  const auto ledger = must(Ledger::open(path_));
  for (const char* name : {"a", "b", "c"}) must(ledger->create_study(study_named(name)));
  const auto writers = must(current_writers(path_));
  ASSERT_EQ(writers.size(), 3U);
  EXPECT_EQ(writers[2].study, "c");
}

TEST_F(ManyWriters, WholeFilesAreLeftAloneWhileAnyStudyIsRun) {
  create_elsewhere("idle");
  const fs::path copy = folder_ / "copy.db";
  fs::copy_file(path_, copy);
  const Process first = runner(path_, "s"), second = runner(path_, "t");
  for (const auto& done :
       {rename_study(path_, "idle", "new"), delete_study(path_, "idle").map([](auto) {}),
        copy_study(path_, "idle", "new").map([](auto) {}), vacuum(path_).map([](auto) {}),
        restore(path_, copy).map([](auto) {}), recover(path_).map([](auto) {})}) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::kStorage);
    EXPECT_NE(
        done.error().message.find("is being written by process " + std::to_string(first.pid())),
        std::string::npos)
        << done.error().message;
  }
}

TEST_F(ManyWriters, OneThatWasReplacedCannotCommitButOthersCan) {
  const auto ledger = must(Ledger::open(path_));
  const StudyId stale = must(ledger->create_study(study_named("stale")));
  const StudyId sound = must(ledger->create_study(study_named("sound")));
  EXPECT_EQ(
      elsewhere([&] {
        const auto thief = must(sqlite::open(path_.string(), SQLITE_OPEN_READWRITE));
        must(sqlite::run(thief.get(), "UPDATE writers SET token = token + 1 WHERE study = 1"));
        return 0;
      }),
      0);
  const auto late = ledger->append(stale, std::vector<Event>{asked(0)});
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("took this database over"), std::string::npos);
  EXPECT_TRUE(ledger->append(sound, std::vector<Event>{asked(0)}));
}

// An older detol locks the whole file of the lock.
TEST_F(ManyWriters, AnOlderDetolRefusesAndIsRefused) {
  create_elsewhere("s");
  const auto locks_all = [this](int& file) {
    file = ::open((path_.string() + ".lock").c_str(), O_RDWR | O_CLOEXEC);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    return ::fcntl(file, F_OFD_SETLK, &whole) == 0;
  };
  int file = -1;
  {
    const Process first = runner(path_, "s");
    EXPECT_FALSE(locks_all(file));
    ::close(file);
  }
  ASSERT_TRUE(locks_all(file));
  EXPECT_EQ(must(current_writers(path_)).size(), 1U);
  ::setenv("DETOL_TEST_PATIENCE", "0.01", 1);
  const auto refused = Ledger::open(path_);
  ::unsetenv("DETOL_TEST_PATIENCE");
  ::close(file);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("is being written by process"), std::string::npos);
}

TEST_F(ManyWriters, AnOpeningWaitsForAMomentOfMaintenance) {
  create_elsewhere("s");
  for (int i = 0; i < 200; ++i)
    must(must(Ledger::open(path_))->append(1, std::vector<Event>{asked(i)}));
  Process vacuums([this] {
    for (int i = 0; i < 20; ++i) (void)vacuum(path_);
    return 0;
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(elsewhere([this] { return Ledger::open(path_) ? 0 : 1; }), 0);
  EXPECT_EQ(vacuums.wait(), 0);
}

// Who commits in a loop cannot overtake who waits: the one asks for its next turn as soon as it has
// given its last away, the other has begun to wait before.
TEST_F(ManyWriters, WaitForTheirTurnAndAreNotOvertaken) {
  constexpr int kRounds = 50;
  create_elsewhere("s");
  WriterLock greedy = must(WriterLock::acquire(path_, Access::kShared));
  must(greedy.share());
  const Pipe go_on, turns;
  Process patient([&] {
    const WriterLock lock = must(WriterLock::acquire(path_, Access::kShared));
    for (int round = 0; round < kRounds; ++round) {
      go_on.receive();
      const Turn turn = must(lock.wait_for_turn());
      turns.send('p');
    }
    return 0;
  });
  const int file = ::open((path_.string() + ".lock").c_str(), O_RDWR | O_CLOEXEC);
  for (int round = 0; round < kRounds; ++round) {
    {
      const Turn first = must(greedy.wait_for_turn());
      go_on.send('g');
      while (!would_be_refused(file, F_WRLCK, {kQueueByte, 1})) ::usleep(100);
    }
    const Turn second = must(greedy.wait_for_turn());
    EXPECT_TRUE(turns.has_byte()) << "round " << round;
    turns.receive();
  }
  ::close(file);
  EXPECT_EQ(patient.wait(), 0);
}

TEST_F(ManyWriters, AreHeldUpByOneThatIsStoppedAndGoOnAfterIt) {
  create_elsewhere("s");
  create_elsewhere("t");
  const Pipe stop, go_on, said;
  const Process holder([&] {
    WriterLock lock = must(WriterLock::acquire(path_, Access::kShared));
    if (!lock.is_shared()) must(lock.share());
    must(lock.lock_study(1, "s"));
    stop.receive();
    const Turn turn = must(lock.wait_for_turn());
    ::raise(SIGSTOP);
    return 0;
  });
  Process waits([&] {
    ::setenv("DETOL_TEST_PATIENCE", "0.02", 1);
    const auto ledger = must(Ledger::open(path_));
    must(ledger->append(2, std::vector<Event>{asked(0)}));
    said.send('r');
    go_on.receive();
    const auto held_up = ledger->append(2, std::vector<Event>{asked(1)});
    said.send(held_up ? 'n' : 'h');
    if (held_up || !ledger->may_retry()) return 1;
    const std::string pid = std::to_string(holder.pid());
    if (held_up.error().message.find("kill -CONT " + pid) == std::string::npos)
      throw std::runtime_error(held_up.error().message);
    go_on.receive();
    must(ledger->append(2, std::vector<Event>{asked(1)}));
    return 0;
  });
  said.receive();
  stop.send('s');
  int status = 0;
  ASSERT_EQ(::waitpid(holder.pid(), &status, WUNTRACED), holder.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  go_on.send('t');
  EXPECT_EQ(said.receive(), 'h');
  ::kill(holder.pid(), SIGCONT);
  go_on.send('c');
  EXPECT_EQ(waits.wait(), 0);
  EXPECT_EQ(events_of("t"), 2U);
}

}  // namespace
}  // namespace detol
