/** A small S3 server on a loopback port: sends objects in parts, checks signatures (V4), and fails when it is told to. */
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from '../../src/config/config.ts'

export const accessKeyId = 'HYPERPLANETESTKEY2'
/** Both buckets have an object with this key. */
export const storedKey = 'stored.ova'
export const secretAccessKey = 'a-secret/of+the-content-store'

/** The first byte of the part that a client reads; `look` of the driver reads byte 0 alone. */
export interface Asked {
  readonly path: string
  readonly first: number
  readonly last: number
}
/** `break`: ends the connection. A promise delays the answer. */
export type Hook = (asked: Asked) => 'break' | undefined | Promise<unknown>

export interface S3Server {
  /** Settings of a service that reads from it. */
  readonly config: Partial<Config>
  /** By `<bucket>/<key>`. */
  readonly objects: Map<string, Buffer>
  readonly asked: Asked[]
  hook: Hook
  close(): Promise<void>
}

export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>()
  const http = createServer((request, response) => void answer(request, response).catch(() => request.destroy()))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  const server: S3Server = {
    objects,
    asked: [],
    hook: () => undefined,
    config: {
      objectStore: `http://127.0.0.1:${port}`,
      objectStoreRegion: 'eu-west-1',
      objectStoreKey: { accessKeyId, secretAccessKey },
      allowAddress: ['127.0.0.0/8'],
    },
    async close() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = (status: number, code: string): void =>
      void response.writeHead(status, { 'Content-Type': 'application/xml' }).end(`<Error><Code>${code}</Code></Error>`)
    const path = decodeURIComponent((request.url as string).slice(1))
    const [, first = '', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const asked = { path, first: Number(first), last: Number(last) }
    server.asked.push(asked)
    if ((await server.hook(asked)) === 'break') return void request.destroy()
    if (!isSigned(request)) return refuse(403, 'SignatureDoesNotMatch')
    const bucket = path.split('/')[0] as string
    if (![...objects.keys()].some((each) => each.startsWith(`${bucket}/`))) return refuse(404, 'NoSuchBucket')
    const bytes = objects.get(path)
    if (bytes === undefined) return refuse(404, 'NoSuchKey')
    const tag = `"${createHash('md5').update(bytes).digest('hex')}"`
    if (![undefined, tag].includes(request.headers['if-match'])) return refuse(412, 'PreconditionFailed')
    if (asked.first >= bytes.length) return refuse(416, 'InvalidRange')
    const part = bytes.subarray(asked.first, asked.last + 1)
    const range = `bytes ${asked.first}-${asked.first + part.length - 1}/${bytes.length}`
    response.writeHead(206, { 'Content-Range': range, ETag: tag, 'Content-Length': part.length }).end(part)
  }
  return server
}

function isSigned({ method, url, headers }: IncomingMessage): boolean {
  const [, keyId, scope = '', names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\S+?),\s*SignedHeaders=(\S+?),\s*Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    ) ?? []
  const signed = names.split(';').map((name) => `${name}:${headers[name]}\n`)
  const canonical = [method, url, '', signed.join(''), names, headers['x-amz-content-sha256']].join('\n')
  const digest = createHash('sha256').update(canonical).digest('hex')
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, digest].join('\n')
  const hmac = (key: string | Buffer, part: string): Buffer => createHmac('sha256', key).update(part).digest()
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`)
  const isForRegion = scope.split('/')[1] === 'eu-west-1'
  return keyId === accessKeyId && isForRegion && hmac(key, text).toString('hex') === signature
}
