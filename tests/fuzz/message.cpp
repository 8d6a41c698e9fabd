#include "scheduler/message.h"

#include "tests/fuzz/promise.h"
#include "tests/fuzz/targets.h"

namespace detol::fuzz {

void fuzz_message(std::string_view bytes) {
  const auto read = decode(bytes);
  if (!read) return promise_one_line(read.error(), ErrorCode::kInput);
  const std::string written = encode(*read);
  const auto again = decode(written);
  promise(again.has_value(), "a message that was read cannot be sent");
  promise(encode(*again) == written, "a message changes on its way");
}

std::vector<std::string> message_seeds() {
  const std::vector<Message> all = {
      message::Hello{
          .worker = 1, .start = 2, .key = "k", .ready = true, .ready_s = 0.5, .trial = 3},
      message::Heartbeat{.worker = 1, .trial = 3, .attempt = 1, .quiet_s = 0.1, .slowest_s = 2},
      message::Report{1, 3, 1, {.epoch = 2, .metrics = {{"val_loss", 0.5}}, .work = 1e9}},
      message::Ended{.worker = 1, .trial = 3, .attempt = 1, .evaluation = {}},
      message::Identify{},
      message::Setup{.config = "version: 1", .backend = "cpu", .task = {{1, 28, 28}, 10}},
      message::Train{.trial = 3,
                     .attempt = 1,
                     .seed = 42,
                     .folder = "/tmp/x",
                     .params = {{"lr", 0.1}, {"op", std::string("conv")}, {"bias", true}}},
      message::ReportAck{3, 1, 2, Verdict::kStop},
      message::EndAck{3, 1},
      message::HeartbeatAck{},
      message::Suspend{3, 1},
      message::Shutdown{},
      message::Timed{1, {{"conv 3x3", "direct", {{"direct", 0.1}, {"winograd", 0.2}}}}},
      message::Chosen{{{{"conv 3x3", "direct"}}}}};
  std::vector<std::string> seeds;
  for (const Message& one : all) seeds.push_back(encode(one));
  return seeds;
}

}  // namespace detol::fuzz
