# SPDX-License-Identifier: Apache-2.0
"""Chromium without a screen, over its DevTools protocol: what a page does in a real browser."""

import base64
import json
import os
import shutil
import subprocess
import tempfile

SECONDS = 30  # for one answer


def program():
    """None: it is not installed."""
    return shutil.which("chromium")


class Page:
    """One page in a browser of its own. Messages are JSON that ends with a NUL, over the descriptors 3 and 4 of the browser."""

    def __init__(self, path):
        self.folder = tempfile.TemporaryDirectory(prefix="autopilot-chromium-", ignore_cleanup_errors=True)
        to_browser, self.writes = os.pipe()
        self.reads, from_browser = os.pipe()
        os.set_inheritable(to_browser, True)
        os.set_inheritable(from_browser, True)
        words = [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "about:blank"]
        # The shell gives the descriptors their numbers.
        self.browser = subprocess.Popen(
            ["timeout", "-k", "5", str(4 * SECONDS), "sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(to_browser, from_browser), env={**os.environ, "HOME": self.folder.name})
        os.close(to_browser)
        os.close(from_browser)
        self.rest = b""
        self.number = 0
        self.session = None
        self.problems = []  # errors of scripts, and what the browser logs as an error
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.send("Page.navigate", url=f"file://{path}")
        self.wait_for("Page.loadEventFired")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.writes)
        os.close(self.reads)
        self.browser.terminate()
        self.browser.wait()
        self.folder.cleanup()

    def receive(self):
        while b"\0" not in self.rest:
            read = os.read(self.reads, 1 << 16)
            if not read:
                raise RuntimeError("Chromium ended")
            self.rest += read
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(values["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and values["entry"]["level"] == "error":
            self.problems.append(values["entry"]["text"])
        return message

    def wait_for(self, method):
        while self.receive().get("method") != method:
            pass

    def send(self, method, **values):
        self.number += 1
        message = {"id": self.number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writes, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def evaluate(self, expression):
        return self.send("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def show(self, width, dark=False, media=""):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def overflow(self):
        """Pixels that the page is wider than its window."""
        return self.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def contrast(self, selector):
        """Between the text of the first such element and what is behind it, as WCAG 2 defines it."""
        return self.evaluate(CONTRAST % json.dumps(selector))

    def pdf(self):
        return base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True)["data"])


CONTRAST = """
(() => {
  const numbers = color => color.match(/[0-9.]+/g).map(Number);
  const canvas = matchMedia('(prefers-color-scheme: dark)').matches && getComputedStyle(document.documentElement)
    .colorScheme.includes('dark') ? [18, 18, 18] : [255, 255, 255];
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = numbers(getComputedStyle(element).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return canvas;
  };
  const light = color => {
    const [r, g, b] = color.slice(0, 3).map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const element = document.querySelector(%s);
  const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
})()
"""
