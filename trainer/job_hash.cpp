#include "trainer/job_hash.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/hash.h"
#include "encodings/study/training_settings.h"
#include "trainer/backends.h"

namespace detol::inline trainer {

std::uint64_t hash_of(const Job& job, const Dataset& data, std::string_view backend) {
  const std::uint64_t hash =
      hash64(fmt::format("{} {} {} {}{}", job.candidate.arch_hash, job.seed, data.info.fingerprint,
                         name_in_hashes(backend), identity_text(job.candidate.recipe)));
  if (!job.parent) return hash;
  return hash_combine(hash, hash64(fmt::format("{} {} {}", job.parent->trial, job.parent->epochs,
                                               job.parent->arch_hash)));
}

std::uint64_t training_identity(const Candidate& candidate, std::uint64_t data_fingerprint,
                                std::string_view backend,
                                const std::optional<EpochRanking>& ranking) {
  constexpr int kTrainerVersion = 1;  // raised when the same training gives other numbers
  return hash64(fmt::format("{} {} {} {}{}{}", kTrainerVersion, candidate.arch_hash,
                            data_fingerprint, name_in_hashes(backend),
                            identity_text(candidate.recipe), to_text(ranking)));
}

bool depends_on_ranks(const Candidate& candidate) {
  const Recipe& recipe = candidate.recipe;
  if (compression_of(recipe) != CompressionKind::kNone || recipe.staleness > 0) return true;
  return !recipe.sync_batch_norm &&
         std::ranges::any_of(candidate.network.nodes(), [](const Node& node) {
           return node.layer.kind == LayerKind::kBatchNorm;
         });
}

}  // namespace detol::inline trainer
