/** Suggestions for an unknown name, by edit distance. */

const maximumNames = 3

/** The three closest names, however far they are. */
export function closestNames(written: string, candidates: Iterable<string>): readonly string[] {
  const lowerCased = written.toLowerCase()
  return [...candidates]
    .map((name) => ({ name, distance: distanceTo(lowerCased, name) }))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, maximumNames)
    .map(({ name }) => name)
}

/** Compares with the whole name and with its last segment: a client may have left out the namespace. */
function distanceTo(written: string, name: string): number {
  const fullName = name.toLowerCase()
  const last = fullName.slice(fullName.lastIndexOf('.') + 1)
  return Math.min(editDistance(written, fullName), editDistance(written, last))
}

/** Damerau-Levenshtein distance: insertions, deletions, replacements, and exchanges of neighbours. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      let fewest = Math.min(at(current, column - 1) + 1, at(last, column) + 1, at(last, column - 1) + (isSame ? 0 : 1))
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (isSwap) fewest = Math.min(fewest, at(beforeLast, column - 2) + 1)
      current.push(fewest)
    }
    beforeLast = last
    last = current
  }
  return at(last, to.length)
}

const at = (row: readonly number[], column: number): number => row[column] as number
