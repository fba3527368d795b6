/** ISO 8601 durations of fixed length: weeks, days, hours, minutes, seconds. Months and years have none. */

const form = /^P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d{1,6})?)S)?)?$/
const units = [7 * 86_400_000, 86_400_000, 3_600_000, 60_000, 1000]

/** Milliseconds; undefined: the text is no such duration. */
export function millisecondsOf(text: string): number | undefined {
  const [matched, ...amounts] = form.exec(text) ?? []
  if (matched === undefined) return undefined
  return units.reduce((sum, unit, index) => sum + unit * Number((amounts[index] ?? '0').replace(',', '.')), 0)
}
