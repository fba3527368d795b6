/** The baseline of the benchmarks: a bare node:https server that always answers the same bytes. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

const [certificate, key, answer] = process.argv.slice(2) as [string, string, string]
const { headers, body } = JSON.parse(readFileSync(answer, 'utf8')) as { headers: Record<string, string>; body: string }
const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (_request, response) => {
  response.writeHead(200, headers)
  response.end(body)
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
