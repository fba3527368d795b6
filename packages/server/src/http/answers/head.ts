/** The headers of every answer. Source: conventions 1. */
import { type Profile, requestIdHeader } from '../profiles/names.ts'

/** Names and values in turn: setting headers one by one costs Node as much as a whole read. */
export type Head = string[]

export function addHeaders(head: Head, headers: Readonly<Record<string, string>> = {}): void {
  for (const name in headers) head.push(name, headers[name] ?? '')
}

export function addNames(head: Head, profile: Profile, requestId: string): void {
  head.push('X-Hyperplane-Names', profile, requestIdHeader[profile], requestId.slice(0, 100))
}

export class AnswerHeads {
  /** While the server stops, each answer asks its client to close the connection. */
  isStopping = false
  #second = Number.NaN
  #date = ''

  /** @param now by the clock of the world that answers */
  begin(now: number): Head {
    const head = ['Date', this.#dateAt(now), 'X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store']
    if (this.isStopping) head.push('Connection', 'close')
    return head
  }

  redate(head: Head, now: number): void {
    head[1] = this.#dateAt(now)
  }

  #dateAt(now: number): string {
    const second = Math.floor(now / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = new Date(now).toUTCString()
    }
    return this.#date
  }
}
