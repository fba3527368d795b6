/** A real certificate authority (OpenSSL's) for a test, with its revocation list on a web server and an OCSP responder. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface KeyPair {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

const configuration = `[ca]
default_ca = authority
[authority]
database = index.txt
serial = serial
crlnumber = crlnumber
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
default_days = 30
default_crl_hours = 3
unique_subject = no
policy = anything
[anything]
commonName = supplied
[client]
keyUsage = critical,digitalSignature
extendedKeyUsage = clientAuth
[responder]
keyUsage = critical,digitalSignature
extendedKeyUsage = OCSPSigning
`

export class OpensslAuthority {
  readonly folder = mkdtempSync(join(tmpdir(), 'hyperplane-ca-'))
  #web: Server | undefined
  #responder: ChildProcess | undefined

  constructor() {
    writeFileSync(join(this.folder, 'ca.cnf'), configuration)
    writeFileSync(join(this.folder, 'index.txt'), '')
    for (const name of ['serial', 'crlnumber']) writeFileSync(join(this.folder, name), '1000\n')
    this.#openssl('req', '-x509', ...newKey('ca'), '-out', 'ca.pem', '-subj', '/CN=OpenSSL Root', '-days', '30')
    this.#issue('responder', 'responder')
  }

  get chain(): string {
    return this.#read('ca.pem')
  }

  issue(name: string): KeyPair {
    this.#issue(name, 'client')
    return { cert: this.#read(`${name}.pem`), key: this.#read(`${name}.key`) }
  }

  der(name: string): Buffer {
    return execFileSync('openssl', ['x509', '-in', `${name}.pem`, '-outform', 'DER'], { cwd: this.folder })
  }

  revoke(name: string): void {
    this.#openssl('ca', '-config', 'ca.cnf', '-revoke', `${name}.pem`)
  }

  /** URL of the list, made by `openssl ca -gencrl` for each request. */
  async publishList(): Promise<string> {
    this.#web = createServer((_request, response) => {
      this.#openssl('ca', '-config', 'ca.cnf', '-gencrl', '-out', 'ca.crl')
      response.end(readFileSync(join(this.folder, 'ca.crl')))
    })
    await new Promise<void>((resolve) => void this.#web?.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#web.address() as AddressInfo).port}/ca.crl`
  }

  async closeList(): Promise<void> {
    const server = this.#web
    this.#web = undefined
    server?.closeAllConnections()
    if (server !== undefined) await new Promise((resolve) => server.close(resolve))
  }

  /** `openssl ocsp` with a certificate that the authority appointed; it knows what is revoked when it starts. */
  async startResponder(port: number): Promise<void> {
    const files = ['-index', 'index.txt', '-CA', 'ca.pem', '-rsigner', 'responder.pem', '-rkey', 'responder.key']
    const child = spawn('openssl', ['ocsp', '-port', String(port), ...files, '-ndays', '1'], {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#responder = child
    // A connection that asks nothing would hold it for good: it says itself when it listens.
    const listening = [child.stdout, child.stderr].map(
      (stream) =>
        new Promise<void>((resolve) => {
          createInterface({ input: stream }).on('line', (line) => /waiting|accept/i.test(line) && resolve())
        }),
    )
    const ended = once(child, 'exit').then(() => {
      throw new Error('openssl ocsp ended')
    })
    ended.catch(() => undefined)
    await Promise.race([...listening, ended])
  }

  /** It keeps its port and answers nothing. */
  holdResponder(): void {
    this.#responder?.kill('SIGSTOP')
  }

  async stopResponder(): Promise<void> {
    const child = this.#responder
    this.#responder = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async remove(): Promise<void> {
    await this.closeList()
    await this.stopResponder()
    rmSync(this.folder, { recursive: true, force: true })
  }

  #issue(name: string, extensions: 'client' | 'responder'): void {
    this.#openssl('req', ...newKey(name), '-out', `${name}.csr`, '-subj', `/CN=${name}`)
    const files = ['-in', `${name}.csr`, '-out', `${name}.pem`]
    this.#openssl('ca', '-config', 'ca.cnf', '-batch', '-notext', '-extensions', extensions, ...files)
  }

  #read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8')
  }

  #openssl(...args: string[]): void {
    execFileSync('openssl', args, { cwd: this.folder, stdio: 'pipe', timeout: 60_000 })
  }
}

const newKey = (name: string): string[] => ['-newkey', 'rsa:2048', '-nodes', '-keyout', `${name}.key`]

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
