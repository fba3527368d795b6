/** The table of drivers in `docs/reference/faults.md`: calls, faults, and a rule that is accepted. */
import { driverCallEntries } from './rule-examples.ts'

const code = (text: string): string => `\`${text}\``
const formatJson = (value: unknown): string =>
  JSON.stringify(value, undefined, 1).replaceAll(/\n\s*/g, ' ').replaceAll('{ ', '{').replaceAll(' }', '}')

export function driverTable(): string {
  const byDriver = Map.groupBy(driverCallEntries(), ({ driver }) => driver)
  const rows = [...byDriver].map(([driver, calls]) => {
    const methods = calls.map(({ method }) => code(method)).join(', ')
    const faults = calls[0]?.driverFaults.map(code).join(', ') || 'any error of the interface'
    return `| ${code(driver)} | ${methods} | ${faults} | ${code(formatJson(calls[0]?.example))} |`
  })
  return ['| Driver | Calls | Faults | Example |', '|---|---|---|---|', ...rows].join('\n')
}
