#include "trainer/job_hash.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "encodings/study/training_settings.h"

namespace detol::inline trainer {

std::uint64_t hash_of(const Job& job, const Dataset& data, std::string_view backend) {
  return hash64(fmt::format("{} {} {} {}{}", job.candidate.arch_hash, job.seed,
                            data.info.fingerprint, backend, identity_text(job.candidate.recipe)));
}

}  // namespace detol::inline trainer
