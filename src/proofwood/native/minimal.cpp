#include "minimal.hpp"
