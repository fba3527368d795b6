import { names } from '@hyperplane/contract/names'
/** Documents on web servers (metadata, revocation lists, OCSP): `simulated/` for `*.simulated`, else `http/`. Source: iam.md 4, 5. */
export interface Web {
  /** Allowed addresses only, no proxy; redirects to the same host only, never from https to http. @throws WebError */
  fetch(request: WebRequest): Promise<Uint8Array>
  /** Why this URL may not be called; undefined: it may. Does not call it. */
  refusalOf(url: string): Promise<string | undefined>
}

export interface WebRequest {
  readonly url: string
  /** Posted; absent: a GET. */
  readonly question?: { readonly contentType: string; readonly content: Uint8Array }
  readonly maximumBytes: number
  /** Real time for the whole request, from name resolution to the last byte. */
  readonly timeoutMilliseconds: number
}

export const webFaults = names('address, dns, protocol, redirect, refused, size, status, timeout, tls')
export type WebFault = (typeof webFaults)[number]

/** The message is for administrators and contains nothing of the answer. */
export class WebError extends Error {
  override readonly name = 'WebError'
  readonly fault: WebFault
  constructor(fault: WebFault, cause: string, options?: ErrorOptions) {
    super(cause, options)
    this.fault = fault
  }
}

/** `URL.canParse` is false: an invalid port, half an IPv6 address. */
const noUrl = 'it is no URL'

export function webByHost(simulated: Web, real: Web): Web {
  const of = (url: string): Web => (isSimulatedHost(new URL(url).hostname) ? simulated : real)
  return {
    async fetch(request) {
      if (!URL.canParse(request.url)) throw new WebError('address', noUrl)
      return of(request.url).fetch(request)
    },
    refusalOf: async (url) => (URL.canParse(url) ? of(url).refusalOf(url) : noUrl),
  }
}

export const isSimulatedHost = (host: string): boolean => host.toLowerCase().endsWith('.simulated')
