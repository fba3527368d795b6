/**
 * Documents that stand on web servers which a client or a certificate names: metadata, revocation lists, answers about
 * revocation. Implemented by `simulated/` (hosts `*.simulated`) and `http/` (all others). Source: behaviour iam.md 4, 5.
 */
export interface Web {
  /**
   * Reads a document, or posts a question and reads the answer. Follows redirects to the same host only, never from https
   * to http. Asks servers that may be called from here, and no proxy. @throws WebError
   */
  fetch(request: WebRequest): Promise<Uint8Array>
  /** Why the server of this URL is never called from here, without calling it; undefined: it may be, when it is there. */
  refusalOf(url: string): Promise<string | undefined>
}

export interface WebRequest {
  /** http or https. */
  readonly url: string
  /** Posted; absent: the document is read. */
  readonly question?: { readonly contentType: string; readonly content: Uint8Array }
  /** Largest answer. */
  readonly maximumBytes: number
  /** For everything, from the resolution of the name to the last byte. Real time. */
  readonly timeoutMilliseconds: number
}

export type WebFault = 'address' | 'dns' | 'protocol' | 'redirect' | 'refused' | 'size' | 'status' | 'timeout' | 'tls'

/** The message is the cause, for administrators; nothing of the answer is in it. */
export class WebError extends Error {
  override readonly name = 'WebError'
  readonly fault: WebFault
  constructor(fault: WebFault, cause: string, options?: ErrorOptions) {
    super(cause, options)
    this.fault = fault
  }
}

/** It has the shape of one; what only reading tells (a port that is none, half an IPv6 address) is told here. */
const noUrl = 'it is no URL'

/** Two implementations as one: the world's own servers, and those that are real. */
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
