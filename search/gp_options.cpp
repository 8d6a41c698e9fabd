#include "search/gp_options.h"

#include <vector>

#include "core/options.h"
#include "core/table.h"

namespace detol::inline search {

Result<GpOptions> gp_options(const std::map<std::string, std::string>& options) {
  OptionReader reader("gp", options);
  const std::int64_t startup = reader.whole("startup", 8, 1, 1'000'000);
  const double growth = reader.real("growth", 1.15, 1, 100);
  const double surprise = reader.real("surprise", 6, 1, 1e9);
  const double region = reader.real("region", 0.5, 0, 1);
  const std::vector<std::string> words = reader.words("acquisition", "auto");
  DETOL_TRY(reader.done());
  const auto acquisition = words.size() == 1 ? acquisition_from(words.front()) : std::nullopt;
  if (!acquisition) {
    return fail(ErrorCode::kInput, "gp: acquisition is " +
                                       in_quotes(words.empty() ? "" : words.front()) +
                                       "; it must be auto, ei, ei_per_work, ucb or thompson");
  }
  return GpOptions{.startup = static_cast<std::size_t>(startup),
                   .growth = growth,
                   .surprise = surprise,
                   .acquisition = *acquisition,
                   .region = region};
}

}  // namespace detol::inline search
