/**
 * The web servers `*.simulated`: `web.documents` by URL, `web.faults` by host, `web.authorities` by host, which serve their list at any
 * `.crl` and answer OCSP requests. Source: behaviour iam.md 11.
 */
import { drawnFrom } from '../../core/ids/draws.ts'
import { type Web, WebError, type WebRequest } from '../web.ts'
import { type AuthorityFact, ocspAnswerOf, revocationListOf } from './authority.ts'
import type { SimulatedWorld } from './world.ts'

interface DocumentFact {
  readonly base64: string
}

export interface WebFaultFact {
  /** `silent`: accepts connections but never answers. */
  readonly kind: 'down' | 'silent' | 'status'
  readonly status?: number
}

const fetchMillis = [50, 300] as const

export function createSimulatedWeb(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): Web {
  const documents = world.collection<DocumentFact>('web.documents')
  const authorities = world.collection<AuthorityFact>('web.authorities')
  const faults = world.collection<WebFaultFact>('web.faults')

  async function contentAt({ url, question }: WebRequest, host: string): Promise<Uint8Array> {
    const document = documents.get(url)
    if (question === undefined && document !== undefined) return Buffer.from(document.base64, 'base64')
    const authority = authorities.get(host)
    if (authority !== undefined && question !== undefined)
      return ocspAnswerOf(authority, question.content, world.clock.now())
    if (authority !== undefined && new URL(url).pathname.endsWith('.crl'))
      return revocationListOf(authority, world.clock.now())
    throw new WebError('status', 'the server answered 404, expected 200')
  }

  return {
    refusalOf: async () => undefined,
    async fetch(request) {
      const host = new URL(request.url).hostname
      const fault = faults.get(host)
      if (fault?.kind === 'down') throw new WebError('refused', 'the server refuses the connection')
      if (fault?.kind === 'silent')
        throw new WebError('timeout', `no whole answer within ${request.timeoutMilliseconds / 1000} s`)
      if (fault?.kind === 'status')
        throw new WebError('status', `the server answered ${fault.status ?? 500}, expected 200`)
      if (settings.durations === 'natural') {
        await world.clock.sleep(drawnFrom(`${world.seed}/web/${request.url}/${world.clock.now()}`, fetchMillis))
      }
      const content = await contentAt(request, host)
      if (content.byteLength > request.maximumBytes)
        throw new WebError('size', `the document is larger than ${request.maximumBytes} bytes`)
      return content
    },
  }
}
