/** Which of the known names somebody meant who wrote another one. */

const shown = 3

/** The nearest first, however far. */
export function closestNames(written: string, known: Iterable<string>): readonly string[] {
  const wanted = written.toLowerCase()
  return [...known]
    .map((name) => ({ name, distance: distanceTo(wanted, name) }))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, shown)
    .map(({ name }) => name)
}

/** Of a name with its namespace in front, the last part may be all that was written. */
function distanceTo(written: string, name: string): number {
  const whole = name.toLowerCase()
  const last = whole.slice(whole.lastIndexOf('.') + 1)
  return Math.min(editDistance(written, whole), editDistance(written, last))
}

/** How many letters must be put in, taken away or replaced, or change places with their neighbour, to make `to` of `from`. */
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
