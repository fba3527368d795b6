/** By port, the header `X-World`, or the host `<world>.localhost`. */
import { ApiError } from '../core/api-error.ts'

export interface WorldHints {
  readonly port?: string | undefined
  readonly header: string | undefined
  readonly host: string | undefined
}

/** In lower case; undefined: the request names no world. @throws ApiError 400 for two different names */
export function chosenWorld({ port, header, host }: WorldHints): string | undefined {
  // Nearly every request ends here.
  if (port === undefined && header === undefined && (host === undefined || !namesWorld(host))) return undefined
  const named = [
    { way: 'port', name: port },
    { way: 'header X-World', name: header?.trim() || undefined },
    { way: 'host name', name: host === undefined ? undefined : worldOfHost(host) },
  ].flatMap(({ way, name }) => (name === undefined ? [] : { way, name: name.toLowerCase() }))
  const [first, ...others] = named
  const other = others.find(({ name }) => name !== first?.name)
  if (first !== undefined && other !== undefined) {
    const describe = ({ way, name }: typeof first): string => `${way} (${name.slice(0, 100)})`
    throw new ApiError('WORLDS_DISAGREE', { first: describe(first), second: describe(other) })
  }
  return first?.name
}

const worldHost = /^([^:]*)\.localhost\.?(?::\d{1,5})?$/i
export const namesWorld = (host: string): boolean => worldHost.test(host)
const worldOfHost = (host: string): string | undefined => worldHost.exec(host)?.[1]
