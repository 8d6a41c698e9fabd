#include "scheduler/message.h"

#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "core/hash.h"
#include "core/rng.h"

namespace detol {
namespace {

constexpr auto kHuge = std::numeric_limits<std::uint64_t>::max();

// Returns one message of each kind, with values that are hard to encode.
std::vector<Message> examples() {
  EpochReport report{.epoch = 3,
                     .metrics = {{"val_accuracy", 0.1}, {"val_loss", std::nan("")}},
                     .work = 1e300,
                     .train_s = 2.5};
  return {
      message::Hello{.worker = 7,
                     .start = 12,
                     .key = "of the run",
                     .id = "id",
                     .name = "host/1",
                     .ranks = 2,
                     .devices = {"a", "b"},
                     .memory = 8e9,
                     .previous_status = 9,
                     .ready = true,
                     .ready_s = 1.5,
                     .trial = kHuge,
                     .attempt = 2},
      message::Heartbeat{.worker = 0,
                         .trial = 5,
                         .attempt = 1,
                         .quiet_s = 0.25,
                         .slowest_s = 3,
                         .is_leaving = true},
      message::Report{.worker = 1, .trial = 5, .attempt = 1, .report = report},
      message::Ended{.worker = 1,
                     .trial = 5,
                     .attempt = 1,
                     .trouble = message::Ended::Trouble::kStorage,
                     .evaluation = {Evaluation::End::kFailed, Cause::kOutOfMemory, "no memory"}},
      message::Identify{},
      message::Setup{.config = "version: 1\n",
                     .backend = "onednn",
                     .task = {{3, 32, 32}, 10},
                     .choices = {{{"dense", "ba"}}}},
      message::Train{
          .trial = 9,
          .attempt = 3,
          .seed = kHuge,
          .acknowledged = 4,
          .folder = "a/b",
          .params = {{"lr", 3.0}, {"depth", std::int64_t{-3}}, {"op", "conv"}, {"se", true}},
          .parent = 2,
          .parent_epochs = 1.5,
          .parent_params = {{"lr", 0.5}}},
      message::ReportAck{.trial = 9, .attempt = 3, .epochs = 4, .verdict = Verdict::kSuspend},
      message::EndAck{.trial = 9, .attempt = 3},
      message::HeartbeatAck{},
      message::Timed{
          .worker = 1,
          .choices = {{"conv 64x16x32x32", "direct", {{"winograd", 0.5}, {"direct", 0.25}}},
                      {"dense", "ab", {}}}},
      message::Chosen{.choices = {{{"conv 64x16x32x32", "direct"}, {"dense", "ab"}}}},
      message::Call{"key", kHuge, "ask host/17", R"({"ask": 1})"},
      message::Answer{kHuge, R"({"trials": []})"},
  };
}

TEST(Message, EveryKindSurvivesTheWireUnchanged) {
  for (const Message& original : examples()) {
    const std::string bytes = encode(original);
    const Result<Message> copy = decode(bytes);
    ASSERT_TRUE(copy) << copy.error().message;
    EXPECT_EQ(copy->index(), original.index());
    EXPECT_EQ(encode(*copy), bytes);
  }
}

TEST(Message, ValuesKeepTheirTypes) {
  const auto train = std::get<message::Train>(*decode(encode(examples()[6])));
  EXPECT_EQ(train.params, std::get<message::Train>(examples()[6]).params);
  EXPECT_EQ(train.seed, kHuge);
}

TEST(Message, ATruncatedMessageIsRefused) {
  for (const Message& original : examples()) {
    const std::string bytes = encode(original);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(decode(std::string_view(bytes).substr(0, length)));
  }
}

TEST(Message, RandomAndDamagedBytesNeitherThrowNorCrash) {
  Rng rng(20261120);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    if (round % 2 == 0) {
      bytes.resize(rng.below(200));
      for (char& c : bytes) c = static_cast<char>(rng.next());
    } else {
      const auto all = examples();
      bytes = encode(all[rng.below(all.size())]);
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.next());
    }
    const auto message = decode(bytes);
    EXPECT_TRUE(!message || decode(encode(*message)));
  }
}

TEST(Message, DeepNestingIsRefusedBeforeItFillsTheStack) {
  EXPECT_FALSE(decode(std::string(std::size_t{4} << 20, '\x91')));
}

std::string refusal_of_version(char version) {
  std::string bytes = encode(message::Identify{});
  bytes[bytes.find("version") + 7] = version;
  const auto refused = decode(bytes);
  return refused ? "" : refused.error().message;
}

// All processes of a run are the same detol, so that no other version has to be read.
TEST(Message, AnotherProtocolVersionIsRefusedWithAdvice) {
  EXPECT_EQ(refusal_of_version(kProtocolVersion - 1),
            "message: protocol version 11, of an older detol; this one speaks 12: start master and "
            "workers with the same detol");
  EXPECT_EQ(refusal_of_version(kProtocolVersion + 1),
            "message: protocol version 13, of a newer detol; this one speaks 12: start master and "
            "workers with the same detol");
}

// A change of any message is a new version: raise kProtocolVersion, and put the hash that this
// prints in a row of `known`.
TEST(Message, OfOneVersionAlwaysHasTheSameBytes) {
  std::string bytes;
  for (const Message& example : examples()) bytes += encode(example);
  const std::map<int, std::string> known = {{3, "8e0150ffe6a97387"},  {4, "fd8222dd9efd540e"},
                                            {5, "566a331a565219ad"},  {6, "18801e75422af3c4"},
                                            {7, "7314241e38e64ae7"},  {8, "fdd88c5c11ff6f13"},
                                            {9, "75a8448636632214"},  {10, "cf5df2bdf42512a1"},
                                            {11, "62359cde3af796e7"}, {12, "07bd9463cc3a3005"}};
  ASSERT_TRUE(known.contains(kProtocolVersion));
  EXPECT_EQ(to_hex(hash64(bytes)), known.at(kProtocolVersion));
}

}  // namespace
}  // namespace detol
