/** Messages of RFC 5424. */

import { type LogLine, severities } from '../../drivers/syslog.ts'

/** Facilities `log audit` and `local0`. */
const [auditFacility, localFacility] = [13, 16]
const auditModules: ReadonlySet<string> = new Set(['API_AUDIT', 'AUDIT'])
/** RFC 5612: the enterprise number for documentation. */
const enterprise = 32_473

export function syslogMessage(
  { module, severity, time, id, text, parameters = {} }: LogLine,
  hostName: string,
): string {
  const facility = auditModules.has(module) ? auditFacility : localFacility
  const priority = 8 * facility + severities.indexOf(severity)
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}="${escaped(String(value))}"`,
  )
  const data = given.length === 0 ? '-' : `[hyperplane@${enterprise} ${given.join(' ')}]`
  const head = [
    `<${priority}>1`,
    new Date(time).toISOString(),
    word(hostName, 255),
    word(module, 48),
    '-',
    word(id, 32),
  ]
  return `${head.join(' ')} ${data} ${oneLine(text)}`
}

/** Printable ASCII without spaces. */
const word = (given: string, maximum: number): string => given.replace(/[^\x21-\x7e]/g, '_').slice(0, maximum) || '-'

const oneLine = (text: string): string => text.replace(/[\x00-\x1f\x7f]+/g, ' ')

const escaped = (value: string): string => oneLine(value).replace(/["\\\]]/g, '\\$&')
