#include <algorithm>
#include <utility>

#include "core/hash.h"
#include "trainer/job_hash.h"
#include "trainer/trainer.h"

namespace detol::inline trainer {

void train_on_validation(DatasetInfo& data) {
  data.training += std::exchange(data.validation, 0);
  data.fingerprint = hash_combine(data.fingerprint, hash64("train+validation"));
}

Result<void> begin_at(Checkpoint checkpoint, const Job& job, const Dataset& data,
                      std::string_view backend) {
  const std::int64_t batch = std::min(job.candidate.recipe.batch_size, data.info.training);
  checkpoint.trial = job.trial;
  checkpoint.attempt = job.attempt;
  checkpoint.job_hash = hash_of(job, data, backend);
  checkpoint.step = checkpoint.epoch * (data.info.training / batch);
  checkpoint.progress = {};
  return write_checkpoint(job.folder, checkpoint);
}

}  // namespace detol::inline trainer
