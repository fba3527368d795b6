/** Real web servers. The connection uses the resolved address that was checked. Source: behaviour iam.md 4, 5. */
import type { IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type AddressGuard, AddressRefusal, lookupOf } from '../../core/access/address-guard.ts'
import { request as requestHttp } from '../../core/node-http.ts'
import type { Clock } from '../../core/time/clock.ts'
import { isTlsFault } from '../tls-fault.ts'
import { type Web, WebError, type WebRequest } from '../web.ts'

const maximumRedirects = 3

export function createHttpWeb(options: { readonly guard: AddressGuard; readonly real: Pick<Clock, 'setTimer'> }): Web {
  async function follow(request: WebRequest, signal: AbortSignal): Promise<Uint8Array> {
    const first = new URL(request.url)
    let url = first
    for (let redirects = 0; redirects <= maximumRedirects; redirects++) {
      const addresses = await addressesOf(url.hostname)
      signal.throwIfAborted()
      const answer = await ask(url, addresses, request, signal)
      const { statusCode = 0 } = answer
      if (statusCode === 200) return await contentOf(answer, request.maximumBytes)
      answer.destroy()
      const location = answer.headers.location
      const isRedirect = [301, 302, 303, 307, 308].includes(statusCode) && location !== undefined
      if (!isRedirect) throw new WebError('status', `the server answered ${statusCode}, expected 200`)
      if (request.question !== undefined) throw new WebError('redirect', 'the server sends the question elsewhere')
      if (!URL.canParse(location, url.href)) throw new WebError('redirect', 'the server redirects to no URL')
      const next = new URL(location, url)
      if (next.hostname !== first.hostname) throw new WebError('redirect', 'the server redirects to another host')
      const isSafe = next.protocol === 'https:' || (next.protocol === 'http:' && url.protocol === 'http:')
      if (!isSafe) throw new WebError('redirect', 'the server redirects to a connection that is not protected')
      url = next
    }
    throw new WebError('redirect', `the server redirects more than ${maximumRedirects} times`)
  }

  async function addressesOf(host: string): Promise<readonly string[]> {
    try {
      return await options.guard.addressesOf(host)
    } catch (cause) {
      if (cause instanceof AddressRefusal) throw new WebError('address', cause.message, { cause })
      throw new WebError('dns', `the name ${host} cannot be resolved`, { cause })
    }
  }

  return {
    async refusalOf(url) {
      try {
        await addressesOf(new URL(url).hostname)
        return undefined
      } catch (error) {
        // A name that does not resolve now may resolve later, so it is not refused.
        return error instanceof WebError && error.fault === 'address' ? error.message : undefined
      }
    },
    async fetch(request) {
      const patience = new AbortController()
      const { timeoutMilliseconds: limit } = request
      const late = new WebError('timeout', `no whole answer within ${limit / 1000} s`)
      const stop = options.real.setTimer(limit, () => patience.abort(late))
      // The resolver cannot be interrupted, so only the wait for it ends.
      const aborted = new Promise<never>((_, reject) =>
        patience.signal.addEventListener('abort', () => reject(late), { once: true }),
      )
      try {
        return await Promise.race([follow(request, patience.signal), aborted])
      } catch (error) {
        throw patience.signal.aborted ? late : asWebError(error)
      } finally {
        stop()
      }
    },
  }
}

function ask(
  url: URL,
  addresses: readonly string[],
  { question }: WebRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const headers = {
    'User-Agent': 'Hyperplane',
    ...(question === undefined
      ? {}
      : { 'Content-Type': question.contentType, 'Content-Length': question.content.byteLength }),
  }
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const method = question === undefined ? 'GET' : 'POST'
    // No agent: a kept-alive connection would outlive the check of its address.
    const sent = send(url, { method, headers, lookup: lookupOf(addresses), signal, agent: false }, resolve)
    sent.on('error', reject)
    sent.end(question?.content)
  })
}

async function contentOf(answer: IncomingMessage, maximumBytes: number): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maximumBytes) {
      answer.destroy()
      throw new WebError('size', `the document is larger than ${maximumBytes} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function asWebError(error: unknown): WebError {
  if (error instanceof WebError) return error
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return new WebError('refused', 'the server refuses the connection', { cause: error })
  if (isTlsFault(code))
    return new WebError('tls', `the server's certificate is not accepted (${message})`, { cause: error })
  return new WebError('protocol', `the connection broke off (${code === '' ? 'no HTTP answer' : code})`, {
    cause: error,
  })
}
