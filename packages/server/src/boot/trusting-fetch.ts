/** Fetch for the typed client over HTTPS that trusts one file of certificates, and what they vouch for. */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { ClientOptions } from '@hyperplane/client'

/** Its connections stay open for the next request, until the other side ends them. */
export function trustingFetch(certificatePath: string): NonNullable<ClientOptions['fetch']> {
  const agent = new Agent({ ca: readFileSync(certificatePath), keepAlive: true })
  return (url, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method, headers, agent }, (answer) => {
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
      sent.on('error', reject)
      sent.end(body)
    })
}
