/** A real S3 server (versitygw, files below a folder) with TLS on a free loopback port. It checks signatures. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { makeServerCertificate } from '../support/server-certificate.ts'

export const accessKeyId = 'HYPERPLANETESTKEY1'
export const secretAccessKey = 'a-secret-of-the-integration-tests'
export const bucket = 'hyperplane-test'
/** Buckets are also reached as `<bucket>.s3.test`. */
export const domain = 's3.test'

export interface S3Server {
  readonly port: number
  /** PEM: the authority of its certificate, which is for 127.0.0.1 and the domain. */
  readonly certificate: string
  /** Its files: the folders of the buckets. */
  readonly folder: string
  stop(): Promise<void>
  start(): Promise<void>
  /** Ends it and removes its files. */
  remove(): Promise<void>
}

export async function startS3Server(): Promise<S3Server> {
  const program = programPath()
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-s3-'))
  const [buckets, sidecar] = [join(folder, 'buckets'), join(folder, 'sidecar')]
  mkdirSync(join(buckets, bucket), { recursive: true })
  mkdirSync(sidecar)
  const { cert, key, ca } = makeServerCertificate(['127.0.0.1', `${bucket}.${domain}`])
  writeFileSync(join(folder, 'cert.pem'), cert)
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 })
  const port = await freePort()
  let child: ChildProcess | undefined

  const server: S3Server = {
    port,
    certificate: ca,
    folder: buckets,
    async start() {
      const tls = ['--cert', join(folder, 'cert.pem'), '--key', join(folder, 'key.pem')]
      const options = ['--port', `127.0.0.1:${port}`, '--virtual-domain', domain, '--quiet', ...tls]
      const env = { ...process.env, ROOT_ACCESS_KEY_ID: accessKeyId, ROOT_SECRET_ACCESS_KEY: secretAccessKey }
      child = spawn(program, [...options, 'posix', '--sidecar', sidecar, buckets], { stdio: 'ignore', env })
      await untilListening(port, child)
    },
    async stop() {
      const ending = child
      child = undefined
      if (ending === undefined || ending.exitCode !== null) return
      const ended = new Promise((resolve) => ending.once('exit', resolve))
      ending.kill('SIGKILL')
      await ended
    },
    async remove() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}

/** @throws Error when it is not installed: the suite fails, it does not pass over what it cannot prove */
function programPath(): string {
  const candidates = [
    ...(process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'versitygw')),
    join(goPath(), 'bin', 'versitygw'),
  ]
  const found = candidates.find(existsSync)
  if (found !== undefined) return found
  throw new Error('versitygw is not installed: run packages/server/test/integration/install-s3-server.sh')
}

function goPath(): string {
  try {
    return execFileSync('go', ['env', 'GOPATH'], { encoding: 'utf8' }).trim()
  } catch {
    return join(process.env['HOME'] ?? '/', 'go')
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })

async function untilListening(port: number, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`versitygw ended with ${child.exitCode}`)
    if (performance.now() > deadline) throw new Error('versitygw does not answer')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
