#include "subset.hpp"
