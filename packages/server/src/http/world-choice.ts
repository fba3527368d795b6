/** Which world a request is for: by the port that it came to, the header `X-World`, or the host `<world>.localhost`. */
import { ApiError } from '../core/api-error.ts'

export interface AskedWorld {
  /** The world that the port belongs to. */
  readonly port?: string | undefined
  /** Value of `X-World`. */
  readonly header: string | undefined
  /** Value of `Host`. */
  readonly host: string | undefined
}

/** In lower case; undefined: the request names none. @throws ApiError 400 when two ways name two worlds */
export function chosenWorld({ port, header, host }: AskedWorld): string | undefined {
  // Nearly every request.
  if (port === undefined && header === undefined && (host === undefined || !namesWorld(host))) return undefined
  const named = [
    { way: 'port', name: port },
    { way: 'header X-World', name: header?.trim() || undefined },
    { way: 'host name', name: host === undefined ? undefined : worldOfHost(host) },
  ].flatMap(({ way, name }) => (name === undefined ? [] : { way, name: name.toLowerCase() }))
  const [first, ...others] = named
  const other = others.find(({ name }) => name !== first?.name)
  if (first !== undefined && other !== undefined) {
    const told = ({ way, name }: typeof first): string => `${way} (${name.slice(0, 100)})`
    throw new ApiError('WORLDS_DISAGREE', { first: told(first), second: told(other) })
  }
  return first?.name
}

const worldHost = /^([^:]*)\.localhost\.?(?::\d{1,5})?$/i
/** Whether a host names a world, known or not. */
export const namesWorld = (host: string): boolean => worldHost.test(host)
const worldOfHost = (host: string): string | undefined => worldHost.exec(host)?.[1]
