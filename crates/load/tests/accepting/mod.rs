//! Servers that tests write themselves.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A server that does this with each of its connections, by their numbers; its address, and how many there were.
pub fn accepting(serve: impl Fn(usize, TcpStream) + Copy + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let number = count.fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || serve(number, stream.unwrap()));
        }
    });
    (address, taken)
}
