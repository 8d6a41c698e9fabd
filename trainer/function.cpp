#include "trainer/function.h"

#include "core/table.h"
#include "trainer/formulas.h"
#include "trainer/one_epoch.h"

namespace detol::inline trainer {

Result<std::unique_ptr<Evaluator>> make_function(const StudyConfig& config,
                                                 const TrainerOptions& options) {
  const FunctionConfig& function = *config.function;
  const BenchmarkFunction benchmark = find_row(formulas(), function.name)->make(function);
  const auto names = find_row(functions(), function.name)->metrics(function);
  return make_one_epoch(*options.group, benchmark.seconds,
                        [benchmark, names](const Genome& genome) -> EpochReport {
                          EpochReport report;
                          const std::vector<double> values = benchmark.values(genome);
                          for (std::size_t i = 0; i < values.size(); ++i)
                            report.metrics.push_back({std::string(names[i]), values[i]});
                          return report;
                        });
}

}  // namespace detol::inline trainer
