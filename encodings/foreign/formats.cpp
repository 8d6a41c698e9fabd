#include "encodings/foreign/formats.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/json_text.h"
#include "encodings/foreign/python_values.h"

namespace detol::inline encoding {
namespace {

// Format: a kind of file, by what it looks like.
struct Format {
  bool (*fits)(const YamlNode& tree);
  Result<ForeignSpace> (*read)(const YamlNode& tree, const YamlSource& source);
};
constexpr std::array kFormats = {
    Format{is_wandb_sweep, read_wandb_sweep}, Format{is_optuna_space, read_optuna_space},
    Format{is_nni_space, read_nni_space}, Format{is_ray_space, read_ray_space}};

}  // namespace

Result<ForeignSpace> read_foreign_space(std::string_view text, std::string_view source) {
  const YamlSource place{.name = std::string(source), .override_paths = {}};
  DETOL_ASSIGN(YamlNode tree, parse_yaml(text, place));
  // JSON means what YAML 1.2 reads in it.
  std::vector<std::string> remarks;
  if (!is_json(text)) remarks = read_as_pyyaml(tree);
  for (const Format& format : kFormats) {
    if (!format.fits(tree)) continue;
    DETOL_ASSIGN(ForeignSpace space, format.read(tree, place));
    if (space.parameters.empty()) return place.error(tree.at, "there is no parameter in it");
    std::ranges::move(remarks, std::back_inserter(space.remarks));
    return space;
  }
  return place.error(tree.at,
                     "this is no search space of NNI (_type and _value), no sweep of Weights & "
                     "Biases (method and parameters), no JSON of Optuna's distributions and no "
                     "text of Ray Tune's words, as in lr: tune.loguniform(1e-4, 1e-1)");
}

}  // namespace detol::inline encoding
