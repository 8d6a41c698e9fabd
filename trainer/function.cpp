#include "trainer/function.h"

#include "core/hash.h"
#include "core/rng.h"
#include "core/table.h"
#include "trainer/formulas.h"
#include "trainer/one_epoch.h"

namespace detol::inline trainer {

Result<std::unique_ptr<Evaluator>> make_function(const StudyConfig& config,
                                                 const TrainerOptions& options) {
  const FunctionConfig& function = *config.function;
  const BenchmarkFunction benchmark = find_row(formulas(), function.name)->make(function);
  const auto names = find_row(functions(), function.name)->metrics(function);
  return make_one_epoch(
      *options.group, benchmark.seconds,
      [benchmark, names, noise = function.number("noise")](const Job& job) -> EpochReport {
        EpochReport report;
        Rng rng = Rng(job.seed).split(hash64("noise"));
        const std::vector<double> values = benchmark.values(job.genome);
        for (std::size_t i = 0; i < values.size(); ++i)
          report.metrics.push_back({std::string(names[i]), values[i] + noise * rng.normal()});
        return report;
      });
}

}  // namespace detol::inline trainer
