// An EarlyOutcome is sent to the other ranks as one line: `E code 0 message` for an error, `V end
// cause reason` for an evaluation, nothing for continuing.

#include "trainer/agreement.h"

#include <fmt/format.h>

#include <new>
#include <sstream>
#include <stdexcept>

#include "trainer/training_memory.h"

namespace detol::inline trainer {
namespace {

std::string to_line(const EarlyOutcome& ending) {
  if (!ending) {
    return fmt::format("E {} 0 {}", static_cast<int>(ending.error().code), ending.error().message);
  }
  if (!*ending) return {};
  const Evaluation& evaluation = **ending;
  return fmt::format("V {} {} {}", static_cast<int>(evaluation.end),
                     static_cast<int>(evaluation.cause), evaluation.reason);
}

EarlyOutcome from_line(const std::string& line) {
  if (line.empty()) return std::nullopt;
  std::istringstream in(line);
  char kind = 0;
  int code = 0, cause = 0;
  std::string text;
  in >> kind >> code >> cause;
  in.ignore(1);
  std::getline(in, text, '\0');
  if (kind == 'E') return fail(static_cast<ErrorCode>(code), text);
  return Evaluation{static_cast<Evaluation::End>(code), static_cast<Cause>(cause), text};
}

// Returns the reason, with the planned bytes if there is a network and memory left to plan it.
std::string out_of_memory_reason(const Job& job) try {
  const Network& network = job.candidate.network;
  if (network.nodes().empty()) return "out of memory";
  const auto bytes = training_bytes(network, job.candidate.recipe);
  return bytes ? fmt::format("out of memory; {} bytes were foreseen", *bytes) : "out of memory";
} catch (const std::bad_alloc&) {
  return "out of memory";
}

Evaluation out_of_memory(const Job& job) {
  return {Evaluation::End::kFailed, Cause::kOutOfMemory, out_of_memory_reason(job)};
}

}  // namespace

EarlyOutcome guarded(const Job& job, const std::function<EarlyOutcome()>& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return out_of_memory(job);
  } catch (const std::length_error&) {  // a vector of more than its max_size
    return out_of_memory(job);
  }
}

EarlyOutcome agree(const EarlyOutcome& own, Group& group) {
  if (group.size() == 1) return own;
  return from_line(first_nonempty_message(to_line(own), group));
}

}  // namespace detol::inline trainer
