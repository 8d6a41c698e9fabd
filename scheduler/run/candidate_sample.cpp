#include "scheduler/run/candidate_sample.h"

#include "core/rng.h"
#include "scheduler/run/refusal.h"
#include "trainer/evaluator.h"
#include "trainer/training_memory.h"

namespace detol::inline scheduler {

Result<CandidateSample> sample_candidates(const StudyConfig& config, const Preflight& preflight,
                                          int ranks, std::int64_t count) {
  DETOL_ASSIGN(const Admission admit, make_admission(config));
  CandidateSample sample{.drawn = count};
  for (std::int64_t i = 0; i < count; ++i) {
    Rng rng = Rng(config.seed).split(static_cast<std::uint64_t>(i));
    const Genome genome = config.space.sample(rng);
    auto candidate = config.candidate(genome, preflight.data.task);
    auto refused = candidate ? admit(genome) : std::optional(candidate.error());
    if (!refused && config.trains())
      refused = refusal_of(*candidate, config.constraints, preflight.data, ranks);
    if (!refused && config.trains())
      candidate = with_training_memory(*std::move(candidate), {}, ranks);
    if (refused) {
      if (sample.reason.empty()) sample.reason = refused->reason;
      continue;
    }
    sample.params.push_back(candidate->cost.params);
    sample.flops.push_back(candidate->cost.flops);
    sample.memory.push_back(candidate->cost.memory.value_or(0));
  }
  return sample;
}

}  // namespace detol::inline scheduler
