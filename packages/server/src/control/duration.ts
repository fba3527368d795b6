/** ISO 8601 durations of fixed length: weeks, days, hours, minutes, seconds; not months and years. */

const form = /^P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d{1,6})?)S)?)?$/
const units = [7 * 86_400_000, 86_400_000, 3_600_000, 60_000, 1000]

export function millisecondsOf(text: string): number | undefined {
  const [matched, ...amounts] = form.exec(text) ?? []
  if (matched === undefined) return undefined
  return units.reduce((sum, unit, index) => sum + unit * Number((amounts[index] ?? '0').replace(',', '.')), 0)
}

/** Ten years with three leap days. */
const longest = 'P3653D'

export function durationFault(text: string, mayBeNothing: boolean): string | undefined {
  const milliseconds = millisecondsOf(text)
  const isLong = milliseconds === undefined || milliseconds > (millisecondsOf(longest) as number)
  if (!isLong && (milliseconds > 0 || mayBeNothing)) return undefined
  const form = 'an ISO 8601 duration in weeks, days, hours, minutes and seconds, such as PT90M or P90D'
  const bounds = `${mayBeNothing ? '' : 'above 0 and '}up to 10 years (${longest}: years and months have no fixed length)`
  return `expected ${form}, ${bounds}; found ${JSON.stringify(text)}`
}
