/** Trusts the certificates of one file, and those that they issue. */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { ClientOptions } from '@hyperplane/client'

export function trustingFetch(certificatePath: string): NonNullable<ClientOptions['fetch']> {
  const agent = new Agent({ ca: readFileSync(certificatePath), keepAlive: true })
  return (url, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const outgoing = request(url, { method, headers, agent }, (answer) => {
        const read = text(answer)
        read.then(
          () =>
            resolve({
              status: answer.statusCode ?? 0,
              headers: { get: (name) => answer.headers[name.toLowerCase()]?.toString() ?? null },
              text: () => read,
            }),
          reject,
        )
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
}
