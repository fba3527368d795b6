/**
 * Documents on web servers that a client or a certificate names: metadata, revocation lists, OCSP responses.
 * Implemented by `simulated/` (hosts `*.simulated`) and `http/` (all others). Source: behaviour iam.md 4, 5.
 */
export interface Web {
  /**
   * Gets a document, or posts a request and returns the response. Follows redirects to the same host only, never from
   * https to http. Calls allowed addresses only, without a proxy. @throws WebError
   */
  fetch(request: WebRequest): Promise<Uint8Array>
  /** The reason why this URL may not be called; undefined when it may. Does not call it. */
  refusalOf(url: string): Promise<string | undefined>
}

export interface WebRequest {
  /** http or https. */
  readonly url: string
  /** Posted; absent: a GET. */
  readonly question?: { readonly contentType: string; readonly content: Uint8Array }
  /** Largest answer. */
  readonly maximumBytes: number
  /** Time for the whole request, from name resolution to the last byte. Real time. */
  readonly timeoutMilliseconds: number
}

export type WebFault = 'address' | 'dns' | 'protocol' | 'redirect' | 'refused' | 'size' | 'status' | 'timeout' | 'tls'

/** The message is the cause, for administrators; it contains nothing of the answer. */
export class WebError extends Error {
  override readonly name = 'WebError'
  readonly fault: WebFault
  constructor(fault: WebFault, cause: string, options?: ErrorOptions) {
    super(cause, options)
    this.fault = fault
  }
}

/** The text has the shape of a URL, but parsing failed (an invalid port, half an IPv6 address). */
const noUrl = 'it is no URL'

/** Chooses the implementation by host name: simulated or real servers. */
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
