/** `fetch` with own authority, checked addresses, limited size and time. Source: behaviour platform.md 7, 8. */
import type { IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { rootCertificates } from 'node:tls'
import { type AddressGuard, lookupOf } from '../../core/access/address-guard.ts'
import { request as requestHttp } from '../../core/node-http.ts'
import type { Clock } from '../../core/time/clock.ts'
import type { BucketPlace } from '../object-store.ts'

export interface TransportOptions {
  readonly guard: AddressGuard
  readonly real: Pick<Clock, 'setTimer'>
  readonly stopping?: AbortSignal | undefined
}

/** Limit without any transferred byte. */
const silentMilliseconds = 10_000
/** Average over a whole call; a slower place counts as silent. */
const leastBytesPerSecond = 64 * 1024
/** Larger than any object of a backup and any page of a list. */
const maximumAnswerBytes = 16 * 1024 * 1024

export function createTransport(place: BucketPlace, { guard, real, stopping }: TransportOptions): typeof fetch {
  const trust = place.skipsCertificateValidation
    ? { rejectUnauthorized: false }
    : place.certificate === undefined
      ? {}
      : { ca: [...rootCertificates, place.certificate] }

  const request = place.isPlain === true ? requestHttp : requestHttps

  return async (input, init = {}) => {
    const url = new URL(String(input))
    const body = init.body as Uint8Array | string | undefined
    const lookup = lookupOf(await guard.addressesOf(url.hostname))
    const patience = new AbortController()
    const bytes = init.method === 'GET' ? maximumAnswerBytes : body === undefined ? 0 : Buffer.byteLength(body)
    const limit = silentMilliseconds + (bytes / leastBytesPerSecond) * 1000
    const stop = real.setTimer(limit, () => patience.abort())
    try {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const headers = Object.fromEntries(new Headers(init.headers).entries())
        const signal = stopping === undefined ? patience.signal : AbortSignal.any([patience.signal, stopping])
        const sent = request(
          url,
          // No agent: a kept-alive connection would outlive the check of its address.
          {
            method: init.method ?? 'GET',
            headers,
            lookup,
            signal,
            agent: false,
            timeout: silentMilliseconds,
            ...trust,
          },
          resolve,
        )
        sent.on('timeout', () => sent.destroy(new SilentPlace()))
        sent.on('error', reject)
        sent.end(body)
      })
      const content = await contentOf(answer)
      const status = answer.statusCode ?? 0
      const headers = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)])
      return new Response(content.byteLength === 0 ? null : content, { status, headers })
    } catch (error) {
      throw patience.signal.aborted ? new SilentPlace() : error
    } finally {
      stop()
    }
  }
}

export class SilentPlace extends Error {
  constructor() {
    super('no answer within 10 s')
  }
}

async function contentOf(answer: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > maximumAnswerBytes) throw new Error(`it answers more than ${maximumAnswerBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
