// A log with a flipped bit never hides acknowledged rows silently.

#include "knowledge/storage/wal.h"

#include <fstream>

#include "core/file.h"
#include "core/rng.h"
#include "knowledge/check.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::describe;
using testing_support::Folder;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;

constexpr std::size_t kHeader = 32;
constexpr std::size_t kFrame = 24 + 4096;

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Killed holds the files that a kill leaves: a database, and its log before any checkpoint.
struct Killed {
  std::string file;
  std::string log;

  void put(const fs::path& path) const {
    write(path, file);
    write(path.string() + "-wal", log);
    fs::remove(path.string() + "-shm");
  }
  std::size_t frames() const { return (log.size() - kHeader) / kFrame; }
};

Killed kill_now(const OneStudy& one) {
  return {must(read_file(one.path)), must(read_file(one.path.string() + "-wal"))};
}

Killed killed_study(int trials) {
  OneStudy one;
  for (int trial = 0; trial < trials; ++trial) {
    const auto id = static_cast<TrialId>(trial);
    one.append({asked(id), reported(id, 1, 1, 0.5)});
  }
  return kill_now(one);
}

// A transaction whose pages need many frames.
std::vector<Event> long_transaction(TrialId first) {
  std::vector<Event> events;
  for (TrialId trial = first; trial < first + 100; ++trial) events.emplace_back(asked(trial));
  return events;
}

std::vector<std::string> read_all(const fs::path& path) {
  return describe(must(must(Reader::open(path))->events(1)));
}

std::string flipped(std::string bytes, std::size_t at, int bit) {
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
  return bytes;
}

WalReport::State state_of(const fs::path& path) {
  return must(examine_wal(path)).state;
}

enum class Seen { kAllThere, kSaid, kRefused, kSilent };

// Returns what reading and checking a database report about it.
Seen seen(const fs::path& path, const std::vector<std::string>& truth) {
  const auto problems = check(path);
  const auto reader = Reader::open(path);
  const auto events = reader ? (*reader)->events(1) : tl::unexpected(reader.error());
  if (!problems || !events) return problems ? Seen::kSilent : Seen::kRefused;
  if (!problems->empty()) return Seen::kSaid;
  return describe(*events) == truth ? Seen::kAllThere : Seen::kSilent;
}

// Flips one bit of a killed study's log at each of `places`, and counts the effects.
struct Tally {
  int all_there = 0, said = 0, refused = 0;
};

Tally flip(const Killed& killed, const std::vector<std::pair<std::size_t, int>>& places) {
  Folder folder;
  const auto path = folder / "detol.db";
  killed.put(path);
  const auto truth = read_all(path);
  Tally tally;
  for (const auto& [at, bit] : places) {
    Killed damaged = killed;
    damaged.log = flipped(killed.log, at, bit);
    damaged.put(path);
    const Seen effect = seen(path, truth);
    EXPECT_NE(effect, Seen::kSilent) << "byte " << at << " bit " << bit;
    tally.all_there += effect == Seen::kAllThere ? 1 : 0;
    tally.said += effect == Seen::kSaid ? 1 : 0;
    tally.refused += effect == Seen::kRefused ? 1 : 0;
  }
  return tally;
}

std::vector<std::pair<std::size_t, int>> every_bit(std::size_t first, std::size_t bytes) {
  std::vector<std::pair<std::size_t, int>> places;
  for (std::size_t at = first; at < first + bytes; ++at)
    for (int bit = 0; bit < 8; ++bit) places.emplace_back(at, bit);
  return places;
}

TEST(Wal, OfAKilledStudyIsSoundAndAllOfItIsRead) {
  OneStudy one;
  one.append({asked(0), asked(1)});
  const Killed killed = kill_now(one);
  Folder folder;
  killed.put(folder / "detol.db");
  EXPECT_EQ(state_of(folder / "detol.db"), WalReport::State::kSound);
  EXPECT_EQ(must(check(folder / "detol.db")), std::vector<std::string>{});
  EXPECT_EQ(read_all(folder / "detol.db").size(), 2U);
}

TEST(Wal, EveryFlippedBitOfItsHeaderIsRefused) {
  EXPECT_EQ(flip(killed_study(3), every_bit(0, kHeader)).refused, 8 * 32);
}

TEST(Wal, EveryFlippedBitOfAnEarlierFramesHeaderIsRefused) {
  const Killed killed = killed_study(4);
  for (const std::size_t frame : {std::size_t{0}, killed.frames() / 2, killed.frames() - 2})
    EXPECT_EQ(flip(killed, every_bit(kHeader + frame * kFrame, 24)).refused, 8 * 24) << frame;
}

// A frame's checksum does not cover its salts: where it matches, other salts are damage.
TEST(Wal, EveryFlippedBitOfTheLastFramesHeaderIsSaidOrRefused) {
  const Killed killed = killed_study(4);
  const std::size_t last = kHeader + (killed.frames() - 1) * kFrame;
  EXPECT_EQ(flip(killed, every_bit(last, 8)).said, 8 * 8);
  EXPECT_EQ(flip(killed, every_bit(last + 8, 8)).refused, 8 * 8);
  EXPECT_EQ(flip(killed, every_bit(last + 16, 8)).said, 8 * 8);
}

TEST(Wal, AFlippedBitOfAnEarlierPageIsRefusedAndOfTheLastSaid) {
  const Killed killed = killed_study(4);
  for (std::size_t frame = 0; frame < killed.frames(); ++frame) {
    const std::size_t page = kHeader + frame * kFrame + 24;
    const Tally tally = flip(killed, {{page, 0}, {page + 2000, 3}, {page + 4095, 7}});
    const bool is_last = frame + 1 == killed.frames();
    EXPECT_EQ(is_last ? tally.said : tally.refused, 3) << frame;
  }
}

TEST(Wal, NoneOfManyRandomFlippedBitsIsSilent) {
  const Killed killed = killed_study(30);
  Rng rng(20261123);
  std::vector<std::pair<std::size_t, int>> places;
  for (int i = 0; i < 60; ++i)
    places.emplace_back(rng.below(killed.log.size()), static_cast<int>(rng.below(8)));
  EXPECT_EQ(flip(killed, places).all_there, 0);
}

TEST(Wal, ThatIsDamagedIsNeitherReadNorWrittenNorChanged) {
  Folder folder;
  const auto path = folder / "detol.db";
  Killed killed = killed_study(5);
  killed.log = flipped(killed.log, kHeader + 2 * kFrame + 500, 1);
  killed.put(path);
  const auto reader = Reader::open(path);
  const auto ledger = Ledger::open(path);
  ASSERT_FALSE(reader);
  ASSERT_FALSE(ledger);
  for (const Error& error : {reader.error(), ledger.error()}) {
    EXPECT_EQ(error.code, ErrorCode::kStorage);
    EXPECT_NE(error.message.find("detol.db-wal: its frame 3 is damaged"), std::string::npos)
        << error.message;
    EXPECT_NE(error.message.find("detol db re"), std::string::npos) << error.message;
  }
  EXPECT_EQ(must(read_file(path)), killed.file);
  EXPECT_EQ(must(read_file(path.string() + "-wal")), killed.log);
}

TEST(Wal, WithATornEndIsWrittenOnAndSoundAgain) {
  Folder folder;
  const auto path = folder / "detol.db";
  Killed killed = killed_study(5);
  killed.log = flipped(killed.log, killed.log.size() - 1, 0);
  killed.put(path);
  EXPECT_EQ(state_of(path), WalReport::State::kTorn);
  must(must(Ledger::open(path))->append(1, std::vector<Event>{asked(4)}));
  EXPECT_EQ(must(check(path)), std::vector<std::string>{});
  EXPECT_EQ(read_all(path).size(), 9U);
}

// As a kill between two writes of a frame leaves it.
TEST(Wal, ThatWasCutInTheMiddleOfAFrameIsSound) {
  Folder folder;
  const auto path = folder / "detol.db";
  Killed killed = killed_study(3);
  killed.log.resize(killed.log.size() - 1000);
  killed.put(path);
  EXPECT_EQ(must(check(path)), std::vector<std::string>{});
}

// A shorter transaction is written over the beginning of one that was never committed.
TEST(Wal, UnfinishedTransactionsInItAreNotDamage) {
  OneStudy one;
  one.append({asked(0)});
  Folder folder;
  const auto path = folder / "detol.db";
  kill_now(one).put(path);
  one.append(long_transaction(1));
  const std::string unfinished = kill_now(one).log.substr(0, kill_now(one).log.size() - kFrame);

  const auto ledger = must(Ledger::open(path));
  must(ledger->append(1, std::vector<Event>{asked(1)}));
  Killed killed{must(read_file(path)), must(read_file(path.string() + "-wal"))};
  ASSERT_LT(killed.log.size(), unfinished.size());
  ASSERT_EQ(killed.log.substr(0, kHeader), unfinished.substr(0, kHeader));
  killed.log += unfinished.substr(killed.log.size());
  Folder other;
  killed.put(other / "detol.db");
  EXPECT_NE(state_of(other / "detol.db"), WalReport::State::kDamaged);
  EXPECT_EQ(read_all(other / "detol.db").size(), 2U);
}

// After a checkpoint the log is written again from its beginning, with other salts.
TEST(Wal, FramesFromBeforeTheLastCheckpointAreNotLookedAt) {
  OneStudy one;
  for (TrialId trial = 0; trial < 2000; trial += 100) one.append(long_transaction(trial));
  for (TrialId trial = 2000; kill_now(one).log.substr(12, 4) == std::string(4, '\0'); trial += 100)
    one.append(long_transaction(trial));
  const Killed killed = kill_now(one);
  Folder folder;
  const auto path = folder / "detol.db";
  killed.put(path);
  const WalReport report = must(examine_wal(path));
  EXPECT_EQ(report.state, WalReport::State::kSound);
  ASSERT_LT(static_cast<std::size_t>(report.sound_bytes) + 20 * kFrame, killed.log.size());
  const auto old = static_cast<std::size_t>(report.sound_bytes);
  EXPECT_EQ(
      flip(killed,
           {{old + 3, 1}, {old + 10, 0}, {old + 18, 2}, {old + 100, 3}, {old + 7 * kFrame + 1, 4}})
          .all_there,
      5);
}

TEST(Wal, IsNotExaminedWhileItsWriterLives) {
  OneStudy one;
  one.append({asked(0), asked(1)});
  const std::string log = kill_now(one).log;
  write(one.path.string() + "-wal", flipped(log, kHeader + 100, 0));  // as if half written
  EXPECT_EQ(must(examine_idle_wal(one.path)).state, WalReport::State::kSound);
  write(one.path.string() + "-wal", log);
}

}  // namespace
}  // namespace detol
